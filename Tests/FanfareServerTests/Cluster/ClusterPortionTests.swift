import Broker
import BrokerConfiguration
import Logging
import Net
import Primitives
import PusherProtocol
import Redis
import Simulation
import Testing

@testable import Cluster
@testable import FanfareServer
@testable import Shard

/// What concerns many channels, or many clients of one, is done in portions: events wait for no more than one of them.
@Suite("Cluster: portions") final class ClusterPortionTests {
    private final class Clock {
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
    }

    private let clock = Clock()
    private let core: ShardCore
    private let cluster: ClusterHome
    private let store: ClusterStore

    init() throws {
        var configuration = Configuration.development
        configuration.cluster.engine = .redis
        configuration.cluster.redis.urls = ["redis://127.0.0.1:1"]
        let settings = try ClusterSettings(
            configuration.cluster,
            port: nil,
            shardCount: 1,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let loop = try EventLoop(name: "loop")
        let time = clock
        let context = ShardContext(
            reactor: try Reactor(loop: loop, clock: LoopClock(now: { time.now }, unixTime: { 1 })),
            settings: ServerSettings(configuration, cluster: settings),
            registry: AppRegistry(configuration.apps),
            links: ShardLinks(of: 0, mailboxes: [Mailbox(wakes: loop)])
        )
        core = ShardCore(context, makeSharedHome: { settings.makeHome(of: $0, $1, $2) })
        cluster = try #require(core.cluster as? ClusterHome)
        store = cluster.partitions.stores[0]
    }

    deinit { core.shutDown() }

    private func pass(_ time: Duration) {
        clock.now = clock.now.advanced(by: time)
        core.turn(waitingAtMost: .zero)
    }

    private func address(_ number: Int) throws -> ChannelAddress {
        let app = AppID(Configuration.development.apps[0].id)
        return ChannelAddress(app: app, name: try ChannelName("room-\(number)", limits: .init()))
    }

    /// Requests subscriptions, which wait for Redis.
    @discardableResult
    private func subscribe(_ client: Int, to channel: Int) throws -> RemoteChannel {
        let id = SocketID(UInt64(client), 1)
        let request = SubscriptionRequest(shard: 0, socketID: id, number: 0)
        core.channels.authority.subscribe(request, to: try address(channel), as: nil, from: nil)
        return try #require(cluster.channels.remotes[try address(channel)])
    }

    /// Leaves out the reply of `attach` that would precede it.
    private func becomeCurrent(_ remote: RemoteChannel) {
        remote.becameCurrent(since: 1)
        cluster.channels.remotes.setCountedSubscriptions(1, of: remote)
    }

    @Test("An answer grants a portion of the subscriptions, and each turn another, in order")
    func grants() throws {
        let remote = try subscribe(0, to: 1)
        for client in 1..<1_000 { try subscribe(client, to: 1) }
        becomeCurrent(remote)
        let portion = SharedChannels.grantedMax
        let channel = { [self] in core.channels.table[remote.address]?.home.subscribers.total }
        cluster.channels.grantWaiting(on: remote, [])
        #expect(channel() == portion && remote.waiting.count == 1_000 - portion)
        #expect(remote.waiting.first(1)[0].request.socketID == SocketID(UInt64(portion), 1))
        // One that comes meanwhile is behind them.
        try subscribe(1_000, to: 1)
        var (turns, granted) = (0, portion)
        while !remote.waiting.isEmpty, turns < 1_000 {
            pass(.milliseconds(1))
            let total = try #require(channel())
            #expect(total > granted && total <= granted + portion)
            (turns, granted) = (turns + 1, total)
        }
        #expect(granted == 1_001 && !remote.isInGrants && cluster.channels.granting.isEmpty)
    }

    @Test("After a loss the next turn grants nothing")
    func grantsAfterLoss() throws {
        let remote = try subscribe(0, to: 1)
        for client in 1..<100 { try subscribe(client, to: 1) }
        becomeCurrent(remote)
        cluster.channels.grantWaiting(on: remote, [])
        #expect(cluster.hasWork)
        cluster.channels.fallBehind(in: store)
        pass(.milliseconds(1))
        #expect(remote.waiting.count == 100 - SharedChannels.grantedMax)
        #expect(!remote.isInGrants && !cluster.hasWork)
    }

    @Test("Channels without subscribers are forgotten in portions, and others not at all")
    func vacancies() throws {
        for number in 0..<1_000 {
            becomeCurrent(try subscribe(1, to: number))
            #expect(cluster.channels.withdraw(SocketID(1, 1), from: try address(number)))
        }
        // It has a subscriber again.
        try subscribe(2, to: 7)
        #expect(cluster.reading.attachedChannels == 0)
        pass(.seconds(9))
        #expect(cluster.channels.remotes.count == 1_000)
        pass(.seconds(2))
        #expect(cluster.channels.remotes.count >= 1_000 - SharedChannels.departuresMax)
        for _ in 0..<150 { pass(.milliseconds(10)) }
        #expect(cluster.channels.remotes.count == 1 && cluster.channels.remotes.topics.count == 1)
        #expect(cluster.partitions.reduce(0) { $0 + $1.channels.count } == 1)
        #expect(cluster.channels.withdraw(SocketID(2, 1), from: try address(7)))
        for _ in 0..<3 { pass(.seconds(11)) }
        #expect(cluster.channels.remotes.count == 0)
    }

    @Test("A channel that is forgotten is released at once, not with thousands of others")
    func release() throws {
        for number in 0..<100 { becomeCurrent(try subscribe(1, to: number)) }
        for number in 0..<100 {
            #expect(cluster.channels.withdraw(SocketID(1, 1), from: try address(number)))
        }
        weak let first = cluster.channels.remotes[try address(0)]
        pass(.seconds(11))
        pass(.milliseconds(2))
        #expect(cluster.channels.remotes.count > 50)
        #expect(cluster.channels.remotes[try address(0)] == nil && first == nil)
    }

    @Test("What Redis has of the node is compared in portions")
    func reconciling() throws {
        try subscribe(1, to: 7)
        cluster.reconciliation.items = (0..<1_000).map { "ignored \($0)" }
        #expect(cluster.hasWork)
        pass(.milliseconds(1))
        #expect(cluster.reconciliation.items.count == 1_000 - Reconciliation.reconciledMax)
        for _ in 0..<50 { pass(.milliseconds(1)) }
        #expect(cluster.reconciliation.items.isEmpty && !cluster.hasWork)
    }

    @Test("One list at a time asks few partitions each turn, and waits for the answers to so many")
    func lists() throws {
        store.isOpen = true
        var finished = 0
        for _ in 0..<2 {
            let range = ChannelRange(
                app: AppID(Configuration.development.apps[0].id),
                prefix: "",
                cursor: "",
                info: [],
                limit: 512
            )
            cluster.list(range) { _ in finished += 1 }
        }
        #expect(cluster.hasWork)
        pass(.milliseconds(1))
        #expect(cluster.lists.lists[0].unansweredCount == SharedLists.listedPerTurn)
        for _ in 0..<20 { pass(.milliseconds(1)) }
        #expect(cluster.lists.lists[0].unansweredCount == SharedLists.listedMax)
        #expect(cluster.lists.lists[1].unansweredCount == 0 && !cluster.hasWork && finished == 0)
        // Redis is lost, and for too long: none is left waiting.
        store.isOpen = false
        for call in store.takeUnanswered() { call.abandon() }
        store.downSince = clock.now
        pass(.seconds(30))
        cluster.lists.refuseWaiting()
        #expect(cluster.lists.lists.isEmpty && finished == 2)
    }

    @Test("The channels that the node is attached to are counted as they change")
    func counts() throws {
        for number in 0..<20 { becomeCurrent(try subscribe(1, to: number)) }
        #expect(cluster.reading.attachedChannels == 20)
        _ = cluster.channels.withdraw(SocketID(1, 1), from: try address(3))
        #expect(cluster.reading.attachedChannels == 19)
        cluster.channels.remotes.forget(try #require(cluster.channels.remotes[try address(4)]))
        #expect(cluster.reading.attachedChannels == 18)
        cluster.channels.fallBehind(in: store)
        #expect(cluster.reading.attachedChannels == 0)
    }

    @Test(
        "Behind a loss the channels of one partition after the other find out what they have missed"
    )
    func catchingUp() throws {
        for number in 0..<2_000 { becomeCurrent(try subscribe(1, to: number)) }
        cluster.channels.fallBehind(in: store)
        store.isOpen = true
        cluster.channels.catchUpAll(in: store)
        let all = cluster.partitions.flatMap(\.channels)
        let begun = all.count { $0.catchingUpCost > 0 }
        #expect(begun <= 256 && begun > 0)
        #expect(store.channels.behind.count + begun <= 300)
        #expect(store.channels.unvisited.count > 200)
    }

    @Test("Clients of a store out of reach are closed in portions")
    func closing() throws {
        for number in 0..<2_000 { try subscribe(number, to: number) }
        store.downSince = clock.now
        store.beginIsolation()
        pass(.seconds(14))
        #expect(core.channels.reconnects.count == 0)
        pass(.seconds(2))
        #expect(store.isolation == .closed && store.unclosed.count == 255)
        #expect(core.channels.reconnects.count < 100)
        pass(.milliseconds(2))
        #expect(store.unclosed.count == 254)
        // Redis is back: the others stay.
        store.endIsolation()
        #expect(store.unclosed.isEmpty && store.isolation == .none)
    }

    @Test("A server without memory counts as lost after the same times, and serves again at once")
    func memory() throws {
        store.isOpen = true
        store.lacksMemory(RedisError("OOM command not allowed"))
        pass(.seconds(4))
        #expect(store.isolation == .none)
        #expect(store.status.lastFault?.contains("OOM command not allowed") == true)
        pass(.seconds(2))
        #expect(store.isolation == .isolated)
        pass(.seconds(10))
        #expect(store.isolation == .closed)
        store.hasMemory()
        #expect(store.isolation == .none && store.status.lastFault == nil)
    }

    // An event waits at Redis for what is sent ahead of it. Lists sent 256 commands in a turn, subscriptions 64.
    @Test("No turn sends Redis many commands, whatever happens to many channels")
    func commands() throws {
        let node = try CrowdedNode()
        try node.subscribe(to: 0..<10)
        func most(_ body: () throws -> Void) rethrows -> Int {
            node.beginMeasurement()
            try body()
            return node.commandCounts.max() ?? 0
        }
        let minute = { for _ in 0..<700 { try node.step(after: 100) } }
        // In a step of this length the heartbeats and the timers of a portion of the partitions coincide.
        let quiet = try most(minute)
        #expect(try most { try node.subscribe(to: 10..<800) } <= quiet + 16)
        #expect(try most { try node.list() } <= quiet + 16)
        // A minute later the messages of all channels that are too old are removed.
        #expect(try most(minute) <= quiet + 16)
        #expect(
            try most {
                node.closeClients()
                try node.settle()
            } <= quiet + 16
        )
    }

    @Test("Channels are attached in their order, and what was left meanwhile is not attached")
    func attachmentQueue() throws {
        let first = try subscribe(1, to: 0)
        // Another channel is ahead of them.
        store.channels.attachments.append(first)
        store.isOpen = true
        for number in 1..<100 { try subscribe(1, to: number) }
        let remotes = try (1..<100).map { try #require(cluster.channels.remotes[try address($0)]) }
        #expect(store.channels.attachments.count == 100)
        #expect(remotes.allSatisfy { $0.isQueued && $0.attaching == nil })
        try subscribe(2, to: 5)
        #expect(store.channels.attachments.count == 100)
        _ = cluster.channels.withdraw(SocketID(1, 1), from: try address(7))
        #expect(store.channels.attachments.count == 100)
        // The connection is lost: after the next one they are attached by another way.
        cluster.channels.fallBehind(in: store)
        #expect(store.channels.attachments.isEmpty && remotes.allSatisfy { !$0.isQueued })
    }
}
