import CLinux
import Glibc
import Net
import RESP
import Redis
import TestRedis

/// A connection whose other end and clock the test has.
final class ScriptedRedis {
    let owner = Owner()
    private(set) var connection: RedisConnection
    let reactor: Reactor
    private var peer: FileDescriptor?
    private let fd: Int32
    private let clock: Clock
    /// The server whose reactor this one shares.
    private let other: ScriptedRedis?
    private var kept: [UInt8] = []

    private final class Clock {
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
    }

    /// Connects to a scripted server.
    ///
    /// - Parameters:
    ///   - settings: The settings of the connection.
    ///   - other: A server with the same reactor and clock; nil for none.
    ///   - delegate: The connection's delegate, not retained; nil for ``owner``.
    /// - Throws: The system's error.
    init(
        _ settings: RedisSettings = .init(),
        beside other: ScriptedRedis? = nil,
        delegate: (any RedisConnectionDelegate)? = nil
    ) throws {
        let clock = other?.clock ?? Clock()
        self.clock = clock
        self.other = other
        reactor =
            try other?.reactor
            ?? Reactor(
                loop: EventLoop(name: "test"),
                clock: LoopClock(now: { clock.now }, unixTime: { 0 })
            )
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        _ = socketpair(AF_UNIX, kind, 0, &ends)
        fd = ends[1]
        peer = try FileDescriptor(fd, from: "socketpair")
        connection = try RedisConnection.adopt(
            FileDescriptor(ends[0], from: "socketpair"),
            settings: settings,
            on: reactor,
            delegate: delegate ?? owner
        )
    }

    deinit { if other == nil { reactor.shutDown() } }

    /// A scripted server whose handshake is complete.
    static func opened(_ settings: RedisSettings = .init()) throws -> ScriptedRedis {
        let redis = try ScriptedRedis(settings)
        redis.settle()
        _ = redis.commands()
        redis.send(hello() + info())
        _ = redis.owner.takeEvents()
        return redis
    }

    /// Runs turns until no work is left.
    func settle() {
        for _ in 0..<4 {
            reactor.poll(atMost: .zero)
            reactor.flush()
        }
    }

    /// Moves the clock.
    func wait(_ time: Duration) {
        clock.now = clock.now.advanced(by: time)
        settle()
    }

    /// Sends bytes to the connection.
    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        settle()
    }

    func endWriting() {
        shutdown(fd, Int32(SHUT_WR))
        settle()
    }

    /// Sends bytes and closes, before the connection has read them.
    func sendAndClose(_ text: String) {
        Glibc.send(fd, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        // A program that another test starts may have the socket for a moment.
        shutdown(fd, Int32(SHUT_RDWR))
        peer = nil
    }

    /// The bytes that have arrived.
    func bytes() -> [UInt8] {
        settle()
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(fd, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
            bytes += buffer[..<count]
            settle()
        }
        return bytes
    }

    /// The commands that have arrived.
    func commands() -> [String] {
        kept += bytes()
        var parser = RESPParser()
        var index = 0
        var commands: [String] = []
        while (try? parser.next(
            in: kept.span,
            from: &index,
            {
                commands.append(Value($0).elements.map(\.text).joined(separator: " "))
            }
        )) == true {}
        kept.removeFirst(index)
        return commands
    }

    static let runID = String(repeating: "0123456789abcdef", count: 3).prefix(40)

    static func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

    static func hello(version: String = "7.0.15", role: String = "master") -> String {
        "%7\r\n" + ["server", "redis", "version", version].map(bulk).joined()
            + bulk("proto") + ":3\r\n" + bulk("id") + ":9\r\n"
            + ["mode", "standalone", "role", role].map(bulk).joined() + bulk("modules") + "*0\r\n"
    }

    static func info(role: String = "master") -> String {
        let text =
            "txt:# Server\r\nredis_version:7.0.15\r\nrun_id:\(runID)\r\n\r\n# Replication\r\nrole:\(role)\r\n"
        return "=\(text.utf8.count)\r\n\(text)\r\n"
    }
}
