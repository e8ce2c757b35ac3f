import Archive
import Broker
import BrokerConfiguration
import Cluster
import Digests
import FanfareServer
import FuzzTargets
import Glibc
import Logging
import Net
import Redis
import Simulation

/// A broker of one shard with a client, which takes turns while it has work.
final class FuzzedShard {
    private static let silence = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
    static let startTime: Int64 = 1_700_000_000

    /// Where messages are kept.
    enum Store {
        case memory, redis, file
    }

    private final class Clock: @unchecked Sendable {
        // SAFETY: the whole shard has one thread.
        var milliseconds: Int64 = 0
        /// How far the wall clock has jumped, in seconds.
        var jump: Int64 = 0
        var unixTime: Int64 { FuzzedShard.startTime + milliseconds / 1_000 + jump }
    }

    private let clock = Clock()
    private let settings: (configuration: Configuration, cluster: ClusterSettings?)
    private var broker: SimulatedBroker
    private let redis: FuzzedRedis?
    let file: FuzzedFile?
    private var client: Pipe?
    private var received: [UInt8] = []
    private(set) var socketID = "1.1"
    /// The ID of the stream that was named last.
    private(set) var stream = "s"

    /// Creates a broker without a client.
    ///
    /// - Parameter store: Where messages are kept; in a file, those of private channels are in memory.
    /// - Throws: The failed call.
    init(_ store: Store) throws {
        settings = try Self.settings(store)
        let clock = clock
        redis = store == .redis ? FuzzedRedis(time: Self.startTime * 1_000) : nil
        file =
            try store == .file
            ? FuzzedFile(clocks: {
                ClockReading(calendar: clock.unixTime * 1_000, uptime: clock.milliseconds)
            }) : nil
        broker = try Self.broker(settings, clock, redis, file)
        if redis != nil { broker.joinCluster() }
        work()
    }

    private static func settings(
        _ store: Store
    ) throws -> (configuration: Configuration, cluster: ClusterSettings?) {
        var configuration = Configuration.development
        var rule = RecoveryRuleConfiguration()
        rule.settings.keep = .always
        rule.settings.allowsRewind = true
        configuration.apps[0].recoveryRules = [rule]
        if store == .file {
            configuration.apps[0].recoveryRules[0].settings.channelPrefix = "private-"
            rule.settings.store = .archive
            configuration.apps[0].recoveryRules.append(rule)
        }
        configuration.apps[0].recovery.standard.messagesMax = 8
        configuration.apps[0].features.subscriptionCount = true
        configuration.apps[0].features.clientEvents = true
        guard store == .redis else { return (configuration, nil) }
        configuration.cluster.engine = .redis
        configuration.cluster.node = "node"
        configuration.cluster.partitions = 1
        configuration.cluster.redis.urls = ["redis://127.0.0.1:1"]
        let cluster = try ClusterSettings(
            configuration.cluster,
            port: nil,
            shardCount: 1,
            life: 1,
            log: silence
        )
        return (configuration, cluster)
    }

    private static func broker(
        _ settings: (configuration: Configuration, cluster: ClusterSettings?),
        _ clock: Clock,
        _ redis: FuzzedRedis?,
        _ file: FuzzedFile?
    ) throws -> SimulatedBroker {
        var number: UInt64 = 0
        return try SimulatedBroker(
            settings.configuration,
            clocks: [
                LoopClock(
                    now: { MonotonicTime(nanoseconds: clock.milliseconds * 1_000_000) },
                    unixTime: { clock.unixTime }
                )
            ],
            random: {
                number &+= 0x9E37_79B9_7F4A_7C15
                return number
            },
            archive: file,
            cluster: settings.cluster,
            dialer: redis
        )
    }

    // MARK: - Runs with a file

    /// Opens the file, and continues what is in it and in the spool.
    ///
    /// - Throws: The finding that it cannot be opened.
    func start() throws(Finding) {
        guard let file else { return }
        let (contents, spooled) = try file.open()
        broker.restore(contents)
        broker.restore(contents.sessions)
        broker.restore(spooled)
        broker.restore(spooled.sessions)
        work()
    }

    /// Ends the broker, changes what it has left, and starts another.
    ///
    /// - Parameters:
    ///   - edits: The changes of the file and the spool.
    ///   - isStopped: Whether it stops, and is not killed.
    ///   - isFormer: Whether the next start finds a file of the second version.
    /// - Throws: The finding that the file cannot be opened.
    func restart(_ edits: [FuzzedFile.Edit], isStopped: Bool, isFormer: Bool) throws(Finding) {
        guard let file else { return }
        client?.close()
        client = nil
        work()
        file.close(keeping: isStopped ? (broker.storedSessions, broker.spooled) : nil)
        if isFormer { file.makeFormer() }
        file.edit(edits)
        file.editSpool(edits)
        do { broker = try Self.broker(settings, clock, redis, file) } catch {
            throw Finding(description: "no broker: \(error)")
        }
        try start()
        _ = try? connect()
    }

    // MARK: - Time

    /// Moves the clock, and executes what is due.
    func advance(_ milliseconds: Int64) {
        clock.milliseconds += milliseconds
        redis?.advance(to: (Self.startTime * 1_000) + clock.milliseconds)
        file?.expire()
        work()
    }

    /// Moves the wall clock alone.
    func jump(_ seconds: Int64) {
        clock.jump += seconds
        work()
    }

    func add(_ edit: FuzzedRedis.Edit) { redis?.add(edit) }

    /// Lets everything be as it is from now on, for longer than any pause after a loss of Redis.
    func calmDown() {
        redis?.removeEdits()
        for _ in 0..<10 { advance(5_000) }
    }

    /// Runs turns until there is nothing to do.
    private func work() {
        var idleTurns = 0
        for _ in 0..<200 where idleTurns < 3 {
            broker.turn(0)
            broker.deliver(.max, from: 0, to: 0)
            let isServed = redis?.serve() ?? serveFile()
            let isReceiving = receive()
            idleTurns = isServed || isReceiving || broker.hasWork ? 0 : idleTurns + 1
        }
    }

    private func serveFile() -> Bool {
        file?.serve(at: clock.milliseconds) { broker.send($0, to: 0) } ?? false
    }

    // MARK: - The client

    private func receive() -> Bool {
        guard let client else { return false }
        let isSending = client.push(.max) > 0
        let bytes = client.read(65_536)
        received += bytes
        return isSending || !bytes.isEmpty
    }

    /// Connects the client, instead of the one before.
    ///
    /// - Parameter target: The target of its request.
    /// - Returns: Whether the broker has sent a greeting.
    /// - Throws: The failed call.
    @discardableResult
    func connect(_ target: [UInt8] = Array("/app/app-key?protocol=7".utf8)) throws -> Bool {
        client?.close()
        work()
        let pipe = try broker.connect(to: 0)
        received = []
        pipe.enqueue(
            Array("GET ".utf8) + target
                + Array(
                    (" HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
                        .utf8
                )
        )
        client = pipe
        work()
        return find(#"\"socket_id\":\""#).map { socketID = $0 } != nil
    }

    /// Sends a message in one frame.
    ///
    /// - Throws: The finding that it takes too long.
    func send(_ message: [UInt8]) throws(Finding) {
        let count = message.count
        var frame: [UInt8] = [0x81]
        switch count {
        case ...125: frame.append(0x80 | UInt8(count))
        case ...0xFFFF: frame += [0xFE, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            frame +=
                [0xFF] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        }
        // The mask is zero.
        client?.enqueue(frame + [0, 0, 0, 0] + message)
        received = []
        try timed("a message of \(count) bytes") { work() }
        if let found = find(#"\"stream\":\""#) ?? find(#""stream":""#) { stream = found }
    }

    /// What follows a text in the received bytes, up to a quotation mark or a backslash.
    private func find(_ text: String) -> String? {
        guard let range = received.firstRange(of: Array(text.utf8)) else { return nil }
        let rest = received[range.upperBound...]
        return String(
            decoding: rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") },
            as: UTF8.self
        )
    }

    /// Data of the client with a signature, as members of an object.
    func authorization(channel: String?, data: [UInt8]?) -> [UInt8] {
        let separator = Array((channel == nil ? "::user::" : ":").utf8)
        let signed =
            Array((channel.map { "\(socketID):\($0)" } ?? socketID).utf8)
            + (data.map { separator + $0 } ?? [])
        var members = Array(#""auth":"app-key:\#(Self.sign(signed))""#.utf8)
        if let channel { members += Array(#","channel":"\#(channel)""#.utf8) }
        if let data {
            members += Array((channel == nil ? #","user_data":""# : #","channel_data":""#).utf8)
            for byte in data {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    members.append(UInt8(ascii: "\\"))
                }
                members.append(byte)
            }
            members.append(UInt8(ascii: "\""))
        }
        return members
    }

    private static func sign(_ text: [UInt8]) -> String {
        let secret = Array("app-secret".utf8)
        return Hex.encode(HMACSHA256(key: secret.span).code(for: text.span))
    }

    // MARK: - Backends

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, of the bytes that a request line may have.
    ///   - parameters: The query's parameters, of any bytes.
    ///   - body: The content.
    ///   - isSigned: Whether it is of a backend.
    /// - Returns: The status; `nil` without an answer.
    /// - Throws: The finding that it takes too long, or is answered as a fault of the broker.
    @discardableResult
    func request(
        _ method: String,
        _ path: String,
        _ parameters: [(String, [UInt8])] = [],
        body: [UInt8] = [],
        isSigned: Bool = true
    ) throws(Finding) -> Int? {
        var query = ""
        if isSigned {
            var fields = [
                ("auth_key", Array("app-key".utf8)),
                ("auth_timestamp", Array("\(clock.unixTime)".utf8)),
                ("auth_version", Array("1.0".utf8)),
            ]
            if !body.isEmpty {
                fields.append(("body_md5", Array(Hex.encode(Digest.md5(body.span)).utf8)))
            }
            fields += parameters
            fields.sort { $0.0 < $1.0 }
            // As always, what is signed is not percent-encoded.
            var text = Array("\(method)\n\(path)\n".utf8)
            for (index, (name, value)) in fields.enumerated() {
                text += Array("\(index == 0 ? "" : "&")\(name)=".utf8) + value
                query += "\(index == 0 ? "?" : "&")\(name)=\(percentEncoded(value))"
            }
            query += "&auth_signature=\(Self.sign(text))"
        }
        let head =
            "\(method) \(path)\(query) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Content-Length: \(body.count)\r\n\r\n"
        guard let (pipe, end) = try? Pipe.make(bufferSize: 200_000),
            let descriptor = try? FileDescriptor(end, from: "socketpair"),
            (try? broker.accept(descriptor, on: 0)) != nil
        else { return nil }
        pipe.enqueue(Array(head.utf8) + body)
        var answer: [UInt8] = []
        try timed("\(method) \(path.prefix(100))") {
            for _ in 0..<20 where !pipe.hasEnded {
                _ = pipe.push(.max)
                work()
                answer += pipe.read(65_536)
            }
        }
        pipe.close()
        let text = String(decoding: answer.prefix(64), as: UTF8.self)
        let status = Int(text.utf8.dropFirst(9).prefix(3).reduce(0) { $0 * 10 + Int($1) - 48 })
        guard !answer.isEmpty else { return nil }
        try expect(status < 500 || status == 503, "\(method) \(path.prefix(100)): \(text)")
        if let range = answer.firstRange(of: Array(#""stream":""#.utf8)) {
            stream = String(
                decoding: answer[range.upperBound...].prefix { $0 != UInt8(ascii: "\"") },
                as: UTF8.self
            )
        }
        return status
    }

    /// Throws a finding if `body` takes a second of the processor, as what is quadratic does.
    private func timed(_ what: @autoclosure () -> String, _ body: () -> Void) throws(Finding) {
        let start = Self.threadTime
        body()
        let milliseconds = (Self.threadTime - start) / 1_000_000
        try expect(milliseconds < 1_000, "\(what()) takes \(milliseconds) ms")
    }

    private static var threadTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// Bytes percent-encoded, as a request line has them.
///
/// - Parameters:
///   - bytes: The bytes.
///   - kept: What is not encoded besides letters and digits.
/// - Returns: The text.
func percentEncoded(_ bytes: [UInt8], keeping kept: String = "") -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            text.append(byte)
        case _ where kept.utf8.contains(byte): text.append(byte)
        default: text += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return String(decoding: text, as: UTF8.self)
}
