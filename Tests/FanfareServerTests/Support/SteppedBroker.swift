import Broker
import BrokerConfiguration
import Glibc
import Net
import Simulation
import Testing

@testable import FanfareServer

/// A broker on the test's thread, whose shards run single turns at the test's command: the effect of each turn is
/// visible.
final class SteppedBroker {
    let broker: SimulatedBroker
    private let shardCount: Int

    init(
        shards: Int = 1,
        archive: (any MessageArchive)? = nil,
        _ change: (inout Configuration) -> Void = { _ in }
    ) throws {
        var configuration = Configuration.development
        change(&configuration)
        shardCount = shards
        broker = try SimulatedBroker(
            configuration,
            clocks: (0..<shards).map { _ in .system },
            random: { .random(in: 0 ... .max) },
            archive: archive,
            confirmationPortions: .smallest
        )
    }

    /// Runs one turn of each shard, then delivers their messages.
    func turn(_ count: Int = 1) {
        for _ in 0..<count {
            for shard in 0..<shardCount { broker.turn(shard) }
            for speaker in 0..<shardCount {
                for hearer in 0..<shardCount { broker.deliver(.max, from: speaker, to: hearer) }
            }
        }
    }

    /// Runs turns until a condition holds; records an issue after the maximum of turns.
    func turn(
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) {
        for _ in 0..<10_000 {
            if condition() { return }
            turn()
        }
        Issue.record("the condition did not come true", sourceLocation: sourceLocation)
    }

    /// Runs turns until no work is left.
    func settle() {
        repeat { turn(5) } while broker.hasWork
    }

    /// A new connection of a shard.
    func connect(to shard: Int = 0) throws -> SteppedPeer {
        var ends: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let result = withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) {
                socketpair(AF_UNIX, kind, 0, $0)
            }
        }
        try #require(result == 0)
        try broker.accept(FileDescriptor(ends.1, from: "socketpair"), on: shard)
        return SteppedPeer(ends.0)
    }

    /// A greeted client of the development app.
    func client(of shard: Int = 0) throws -> SteppedPeer { try greetedClient(of: shard).client }

    /// The same, with its socket ID.
    func greetedClient(
        of shard: Int = 0,
        target: String = WebSocketWire.target
    ) throws -> (client: SteppedPeer, socketID: String) {
        let peer = try connect(to: shard)
        peer.send(WebSocketWire.upgrade(target: target))
        turn { peer.answer != nil }
        peer.beginFrames()
        turn { peer.frames.count == 1 }
        let greeting = peer.frames[0].text
        let match = try #require(greeting.firstMatch(of: /\\"socket_id\\":\\"(\d+\.\d+)\\"/))
        peer.forget()
        return (peer, String(match.1))
    }

    /// Subscribes to public channels, and waits for the acknowledgements.
    func subscribe(_ peer: SteppedPeer, to channels: [String]) {
        for start in stride(from: 0, to: channels.count, by: 50) {
            let part = channels[start..<min(start + 50, channels.count)]
            peer.send(part.flatMap { Frames.subscribe($0) })
            turn { peer.frames.count == part.count }
            #expect(peer.count(of: "subscription_succeeded") == part.count)
            peer.forget()
        }
    }
}

/// The peer of a connection to a ``SteppedBroker``.
final class SteppedPeer {
    private var descriptor: Int32
    /// The received bytes that are not part of an answer or frame yet.
    private var bytes: [UInt8] = []
    private var readFrames: [WebSocketWire.Frame] = []
    /// Whether the broker has closed the connection, as of the last read.
    private(set) var hasEnded = false

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends bytes; the socket buffer must have room for them.
    func send(_ bytes: [UInt8]) {
        let sent = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        #expect(sent == bytes.count)
    }

    func close() {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
    }

    private func receive() {
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &part, part.count, 0)
            if count == 0 { hasEnded = true }
            guard count > 0 else { return }
            bytes += part.prefix(count)
        }
    }

    // MARK: - HTTP

    /// The first received answer; `nil` while it is not complete.
    var answer: Answer? {
        receive()
        guard let head = head(), bytes.count >= head.end + head.length else { return nil }
        let status = Int(head.text.dropFirst(9).prefix(3)) ?? 0
        let body = String(decoding: bytes[head.end..<head.end + head.length], as: UTF8.self)
        return Answer(status: status, head: head.text, body: body)
    }

    private func head() -> (text: String, end: Int, length: Int)? {
        guard let range = bytes.prefix(2_000).firstRange(of: Array("\r\n\r\n".utf8)) else {
            return nil
        }
        let text = String(decoding: bytes[..<range.upperBound], as: UTF8.self)
        let length = text.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? 0
        return (text, range.upperBound, length)
    }

    // MARK: - WebSocket

    /// Removes the answer to the upgrade: frames follow.
    fileprivate func beginFrames() {
        if let head = head() { bytes.removeFirst(head.end) }
    }

    /// The frames received since ``forget()``.
    var frames: [WebSocketWire.Frame] {
        receive()
        var start = 0
        while let (frame, end) = frame(at: start) {
            readFrames.append(frame)
            start = end
        }
        bytes.removeFirst(start)
        return readFrames
    }

    /// The number of frames that contain a text.
    func count(of text: String) -> Int { frames.count { $0.text.contains(text) } }

    /// Discards the received frames.
    func forget() {
        _ = frames
        readFrames = []
    }

    private func frame(at start: Int) -> (WebSocketWire.Frame, end: Int)? {
        guard bytes.count >= start + 2 else { return nil }
        let lengthBytes = [126: 2, 127: 8][Int(bytes[start + 1])] ?? 0
        let payloadStart = start + 2 + lengthBytes
        guard bytes.count >= payloadStart else { return nil }
        let length =
            lengthBytes == 0
            ? Int(bytes[start + 1])
            : bytes[start + 2..<payloadStart].reduce(0) { $0 << 8 | Int($1) }
        let end = payloadStart + length
        guard bytes.count >= end else { return nil }
        let payload = Array(bytes[payloadStart..<end])
        return (WebSocketWire.Frame(opcode: bytes[start] & 0x0F, payload: payload), end)
    }
}
