import FanfareServer
import Glibc
import HTTPServer
import Net
import Redis
import RedisModel

/// A node with many channels and its Redis, with a simulated clock: the CPU time of each turn of its shard is recorded.
///
/// Events wait for the turn before, so the longest turn is what they wait for at worst.
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
    /// The CPU times of the turns, in milliseconds.
    package private(set) var turns: [Double] = []

    /// Starts a node with 256 partitions on one shard.
    ///
    /// - Throws: The failed call.
    package init() throws {
        var configuration = Configuration()
        var app = AppConfiguration(id: Self.app.id, key: Self.app.key, secret: Self.app.secret)
        app.recovery.isEnabled = true
        configuration.apps = [app]
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
        let mailbox = Mailbox<ShardMessage>(wakes: loop)
        let clock = LoopClock(
            now: { MonotonicTime(nanoseconds: Int64(environment.milliseconds) * 1_000_000) },
            unixTime: { Self.epoch / 1_000 + Int64(environment.milliseconds / 1_000) }
        )
        let context = ShardContext(
            reactor: try Reactor(loop: loop, clock: clock),
            settings: settings,
            registry: AppRegistry(configuration.apps),
            links: ShardLinks(of: 0, speakingInto: [mailbox], hearing: mailbox)
        )
        context.dialer = NodeDialer(1, redis, [], environment)
        core = ShardCore(context)
        site = core.makeSite()
        limits = settings.streamLimits
        core.watchLiveness()
        core.joinCluster()
        for _ in 0..<10_000 where cluster.numberIfReady(shardCount: 1) == nil { try step() }
    }

    deinit { core.shutDown() }

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

    /// Runs one turn, after a millisecond.
    package func step() throws {
        environment.milliseconds += 1
        try redis.advance(to: Self.epoch + Int64(environment.milliseconds))
        for link in redis.links {
            _ = try link.receive(.max)
            for command in link.commands.prefix(Self.commandsMax) {
                guard case .redis(let process, _, _) = link.end else { continue }
                try redis.execute(command, at: process, of: link)
                _ = link.send(.max)
            }
            link.commands.removeFirst(min(Self.commandsMax, link.commands.count))
            _ = link.send(.max)
            link.closeIfEnded()
        }
        redis.primary.model.forgetWrites(before: redis.primary.model.writeCount)
        for pipe in clients + backends { _ = pipe.push(.max) }
        let start = Self.cpuTime
        core.turn(waitingAtMost: .zero)
        turns.append(Self.cpuTime - start)
        for pipe in clients + backends { while !pipe.read(.max).isEmpty {} }
    }

    /// Forgets the times of the turns before.
    package func beginMeasurement() { turns = [] }

    private static var cpuTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    // MARK: - What happens

    /// Connects a client that subscribes to channels, and waits until it has.
    package func subscribe(to channels: Range<Int>) throws {
        let client = try connect()
        clients.append(client)
        let request = """
            GET /app/\(Self.app.key)?protocol=7 HTTP/1.1\r\nHost: localhost\r\n\
            Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n
            """
        client.enqueue(Array(request.utf8))
        for _ in 0..<10 { try step() }
        for channel in channels {
            client.enqueue(
                Self.frame(#"{"event":"pusher:subscribe","data":{"channel":"c\#(channel)"}}"#)
            )
        }
        try settle()
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
                redis.links.contains { !$0.commands.isEmpty }
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
        backends.append(backend)
        let parameters =
            "auth_key=\(Self.app.key)&auth_timestamp=\(Self.epoch / 1_000 + Int64(environment.milliseconds / 1_000))&auth_version=1.0"
        let path = "/apps/\(Self.app.id)/channels"
        let signature = sign("GET\n\(path)\n\(parameters)", with: Self.app.secret)
        let request =
            "GET \(path)?\(parameters)&auth_signature=\(signature) HTTP/1.1\r\nHost: localhost\r\n\r\n"
        backend.enqueue(Array(request.utf8))
        try settle()
    }
}
