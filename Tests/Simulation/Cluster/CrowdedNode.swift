import Broker
import BrokerConfiguration
import Cluster
import Digests
import FanfareServer
import Gateway
import Glibc
import HTTPServer
import Net
import PusherProtocol
import Redis
import RedisModel
import Shard

/// A node with many channels or clients and its Redis, with a simulated clock: the CPU time of each turn of its shard is
/// recorded, and of the events of a bystander.
///
/// With two shards the second one is a mailbox: its clients cost neither sockets nor time, and ask for one channel.
package final class CrowdedNode {
    private static let app = (id: "1", key: "key", secret: "secret")
    private static let epoch: Int64 = 1_700_000_000_000
    /// The most commands that Redis executes in a step, so that the node can take all replies.
    private static let commandsMax = 64

    private let environment = World.Environment(seed: 1)
    private let redis: SimulatedRedis
    private let core: ShardCore
    private let site: HTTPSite
    private let limits: StreamLimits
    private var clients: [Pipe] = []
    private var backends: [Pipe] = []
    private let mailbox: Mailbox<ShardMessage>
    private let secondMailbox: Mailbox<ShardMessage>
    private var bystander: Bystander?
    /// Whether Redis executes commands.
    package var isRedisAnswering = true
    /// The number of grants to the clients of the second shard.
    package private(set) var grantedCount = 0
    private var lastClient: UInt64 = 0
    /// The CPU times of the turns, in milliseconds.
    package private(set) var turns: [Double] = []
    /// The number of commands that each turn has sent to Redis.
    package private(set) var commandCounts: [Int] = []

    /// The times of the bystander's events, in milliseconds, and how many each stands for.
    package var eventTimes: [(milliseconds: Double, weight: Double)] { bystander?.times ?? [] }

    /// Starts a node with 256 partitions.
    ///
    /// - Parameter shardCount: The number of its shards; only the first one runs.
    /// - Throws: The failed call.
    package init(shardCount: Int = 1) throws {
        MemoryTrim.mergeFreedBlocksAtOnce()
        var configuration = Configuration()
        var app = AppConfiguration(id: Self.app.id, key: Self.app.key, secret: Self.app.secret)
        app.recovery.isEnabled = true
        configuration.apps = [app]
        // The clients answer no pings.
        configuration.activityTimeout = 86_400
        configuration.cluster.engine = .redis
        configuration.cluster.node = "node"
        configuration.cluster.redis.urls = ["redis://127.0.0.1:1"]
        let cluster = try ClusterSettings(
            configuration.cluster,
            port: nil,
            shardCount: 1,
            log: ClusterScenario.silence
        )
        let environment = environment
        redis = SimulatedRedis(
            topics: ["none"],
            time: Self.epoch + Int64(environment.milliseconds),
            pushesFollowReply: true
        )
        let settings = ServerSettings(configuration, cluster: cluster)
        let loop = try EventLoop(name: "loop")
        mailbox = Mailbox(wakes: loop)
        secondMailbox = Mailbox(wakes: loop)
        let clock = environment.clock(since: Self.epoch / 1_000)
        let context = ShardContext(
            reactor: try Reactor(loop: loop, clock: clock),
            settings: settings,
            registry: AppRegistry(configuration.apps),
            links: ShardLinks(
                of: 0,
                speakingInto: shardCount == 1 ? [mailbox] : [mailbox, secondMailbox],
                hearing: mailbox
            )
        )
        let dialer = NodeDialer(1, redis, [], environment)
        core = ShardCore(context) { cluster.makeHome(of: $0, $1, $2, dialedBy: dialer) }
        site = core.makeSite(SiteSettings(configuration))
        limits = settings.streamLimits
        core.watchLiveness()
        core.joinCluster()
        for _ in 0..<10_000 where cluster.numberIfReady(shardCount: 1) == nil { try step() }
        try startBystander()
    }

    deinit {
        core.shutDown()
        // A process and its connections refer to each other.
        redis.primary.links = [:]
    }

    private func connect() throws -> Pipe {
        let (pipe, end) = try Pipe.make(bufferSize: 1 << 20)
        _ = try core.context.reactor.adopt(
            FileDescriptor(end, from: "socketpair"),
            limits: limits,
            delegate: HTTPConnection(site: site)
        )
        return pipe
    }

    // MARK: - Time

    /// Runs one turn, after some milliseconds.
    package func step(after milliseconds: Int = 1) throws {
        environment.milliseconds += milliseconds
        try redis.advance(to: Self.epoch + Int64(environment.milliseconds))
        var commandCount = 0
        for link in redis.links where isRedisAnswering {
            let former = link.commands.count
            while try link.receive(.max) > 0 {}
            commandCount += link.commands.count - former
            _ = link.send(.max)
            var count = 0
            while count < min(Self.commandsMax, link.commands.count), !link.isBehind,
                case .redis(let process, _, _) = link.end
            {
                try redis.execute(link.commands[count], at: process, of: link)
                _ = link.send(.max)
                count += 1
            }
            link.commands.removeFirst(min(count, link.commands.count))
            link.closeIfEnded()
        }
        commandCounts.append(commandCount)
        redis.primary.model.forgetWrites(before: redis.primary.model.writeCount)
        for pipe in clients + backends { _ = pipe.push(.max) }
        try bystander?.send { signed("POST", $0, $1) }
        let start = Self.cpuTime
        core.turn(waitingAtMost: .zero)
        turns.append(Self.cpuTime - start)
        bystander?.turnEnded(after: turns[turns.count - 1])
        for pipe in clients + backends { while !pipe.read(.max).isEmpty {} }
        for case .granted in secondMailbox.drain() { grantedCount += 1 }
    }

    /// Forgets the times of the turns and events before.
    package func beginMeasurement() {
        (turns, commandCounts) = ([], [])
        bystander?.beginMeasurement()
    }

    private static var cpuTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    // MARK: - What happens

    private func connectClient() throws -> Pipe {
        let client = try connect()
        let request = """
            GET /app/\(Self.app.key)?protocol=7 HTTP/1.1\r\nHost: localhost\r\n\
            Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n
            """
        client.enqueue(Array(request.utf8))
        return client
    }

    private func startBystander() throws {
        let channel = try firstName("bystander")
        let client = try connectClient()
        clients = [client]
        for _ in 0..<10 { try step() }
        // With its position it is not closed after a gap.
        client.enqueue(Self.subscription(to: channel))
        try settle()
        clients = []
        bystander = try Bystander(on: channel, client: client) { [unowned self] in try connect() }
    }

    /// The first name with a number whose home is the first shard.
    private func firstName(_ prefix: String) throws -> String {
        for number in 0... {
            let address = try address("\(prefix)-\(number)")
            if core.context.home(of: address) == 0 { return address.name.text }
        }
        return prefix
    }

    private func address(_ name: String) throws -> ChannelAddress {
        ChannelAddress(app: AppID(Self.app.id), name: try ChannelName(name))
    }

    /// Connects a client that subscribes to channels, and waits until it has.
    package func subscribe(to channels: Range<Int>) throws {
        let client = try connectClient()
        clients.append(client)
        for _ in 0..<10 { try step() }
        for channel in channels { client.enqueue(Self.subscription(to: "c\(channel)")) }
        try settle()
    }

    private static func subscription(to channel: String) -> [UInt8] {
        frame(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)","position":{}}}"#)
    }

    /// A masked text frame, whose mask changes nothing.
    private static func frame(_ text: String) -> [UInt8] {
        [0x81, 0x80 | UInt8(text.utf8.count), 0, 0, 0, 0] + Array(text.utf8)
    }

    /// Runs turns until Redis has nothing more to do for a while.
    package func settle() throws {
        var quiet = 0
        while quiet < 20 {
            try step()
            let isBusy =
                core.hasWork || redis.links.contains { !$0.commands.isEmpty }
                || clients.contains { $0.waitingCount > 0 }
            quiet = isBusy ? 0 : quiet + 1
        }
    }

    /// Ends the connection to Redis.
    package func loseRedis() { for link in redis.links { link.close() } }

    /// Closes all clients.
    package func closeClients() {
        for client in clients { client.close() }
        clients = []
    }

    /// Lists all channels.
    package func list() throws {
        let backend = try connect()
        backends = [backend]
        backend.enqueue(Array(signed("GET", "/channels").utf8))
        try settle()
    }

    /// Reads the gauges and counters, as a scrape does, after each so many turns.
    package func scrape(_ count: Int, each turnCount: Int = 1) throws {
        for _ in 0..<count {
            for _ in 0..<turnCount { try step() }
            let start = Self.cpuTime
            _ = core.reading
            let time = Self.cpuTime - start
            turns.append(time)
            bystander?.turnEnded(after: time)
        }
    }

    private func signed(_ method: String, _ path: String, _ body: String = "") -> String {
        let time = Self.epoch / 1_000 + Int64(environment.milliseconds / 1_000)
        var query = "auth_key=\(Self.app.key)&auth_timestamp=\(time)&auth_version=1.0"
        if !body.isEmpty {
            query += "&body_md5=\(Hex.encode(Digest.md5(Array(body.utf8).span)))"
        }
        let path = "/apps/\(Self.app.id)\(path)"
        let signature = sign("\(method)\n\(path)\n\(query)", with: Self.app.secret)
        return """
            \(method) \(path)?\(query)&auth_signature=\(signature) HTTP/1.1\r\nHost: localhost\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n\(body)
            """
    }

    // MARK: - One channel

    /// The most requests of the second shard in a turn.
    private static let requestsMax = 256

    /// Lets clients of the second shard subscribe to one channel while Redis does not answer, so that they wait.
    ///
    /// - Parameter count: The number of clients.
    /// - Throws: The failed call, or what Redis cannot read.
    package func crowd(_ count: Int) throws {
        try settle()
        isRedisAnswering = false
        bystander?.isPublishing = false
        let address = try address(try firstName("crowded"))
        for number in 1...count {
            let id = SocketID(1, lastClient + UInt64(number))
            mailbox.post(
                .subscribe(address, SubscriptionRequest(shard: 1, socketID: id, number: 1))
            )
            if number % Self.requestsMax == 0 || number == count { try step() }
        }
        lastClient += UInt64(count)
    }

    /// Lets the last clients of the second shard withdraw their subscriptions.
    package func withdraw(_ count: Int) throws {
        let address = try address(try firstName("crowded"))
        for number in 1...count {
            let id = SocketID(1, lastClient - UInt64(count - number))
            mailbox.post(.unsubscribe(address, shard: 1, id))
            if number % Self.requestsMax == 0 || number == count { try step() }
        }
    }

    /// Lets Redis answer, until all clients that wait are subscribed.
    package func admit(_ count: Int) throws {
        isRedisAnswering = true
        bystander?.isPublishing = true
        let all = grantedCount + count
        for _ in 0..<1_000_000 where grantedCount < all { try step() }
        // The events that were sent meanwhile.
        try settle()
    }
}
