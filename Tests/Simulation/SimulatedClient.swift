import Net
import PusherProtocol
import WebSocket

/// A client's WebSocket, over a pipe that fragments everything.
final class SimulatedClient {
    /// A received frame.
    enum ReceivedFrame {
        case message(ServerMessage)
        case ping([UInt8])
        case pong
        case close(Int?)
    }

    let pipe: Pipe
    private let handshake: ClientHandshake
    private var endpoint: WebSocketEndpoint?
    private var unread: [UInt8] = []
    /// The texts of the received messages, for a client that parses them itself.
    private var texts: [[UInt8]]?

    /// Starts to connect; the request still has to be pushed.
    convenience init(
        _ pipe: Pipe,
        key: String,
        token: String? = nil,
        compresses: Bool,
        number: Int
    ) throws {
        let target = "/app/\(key)?protocol=7&client=simulation&version=1.0"
        try self.init(
            pipe,
            target: "\(token.map { "/r/" + $0 } ?? "")\(target)",
            compresses: compresses,
            number: number
        )
    }

    /// Starts to connect with a target; the request still has to be pushed.
    init(
        _ pipe: Pipe,
        target: String,
        compresses: Bool,
        number: Int,
        keepsTexts: Bool = false
    ) throws {
        self.pipe = pipe
        texts = keepsTexts ? [] : nil
        handshake = try ClientHandshake(
            host: "localhost",
            target: target,
            nonce: (0..<16).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) },
            deflate: compresses ? DeflateOptions() : nil
        )
        pipe.enqueue(handshake.request)
    }

    // MARK: - Sending

    /// Queues a text message.
    func send(_ text: String, mask: UInt32) {
        guard let frame = endpoint?.encode(.text, Array(text.utf8).span, mask: mask) else { return }
        pipe.enqueue(frame)
    }

    /// Queues the answer to a ping.
    func answer(_ payload: [UInt8], mask: UInt32) {
        guard let frame = endpoint?.pong(payload.span, mask: mask) else { return }
        pipe.enqueue(frame)
    }

    /// Queues a ping frame.
    func ping(mask: UInt32) {
        let payload = Array("ping".utf8)
        guard let frame = endpoint?.ping(payload.span, mask: mask) else { return }
        pipe.enqueue(frame)
    }

    /// Queues a close frame.
    func sendClose(mask: UInt32) {
        guard let frame = endpoint?.close(.normal, mask: mask) else { return }
        pipe.enqueue(frame)
    }

    // MARK: - Receiving

    /// Reads up to `limit` bytes.
    ///
    /// - Returns: The number of bytes, and the completed frames.
    func read(_ limit: Int) throws(Violation) -> (count: Int, frames: [ReceivedFrame]) {
        let bytes = pipe.read(limit)
        guard !bytes.isEmpty else { return (0, []) }
        unread += bytes
        if endpoint == nil { try upgrade() }
        return (bytes.count, endpoint == nil ? [] : try frames())
    }

    /// Removes and returns the text of the oldest message.
    func takeText() -> [UInt8] {
        guard texts?.isEmpty == false else { return [] }
        return texts?.removeFirst() ?? []
    }

    private func upgrade() throws(Violation) {
        guard let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
        let head = String(decoding: unread[..<end.lowerBound], as: UTF8.self)
        unread.removeSubrange(..<end.upperBound)
        var fields: [String: [String]] = [:]
        for line in head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased(), default: []].append(String(parts[1].drop { $0 == " " }))
        }
        do {
            let agreement = try handshake.verify(status: Int(head.dropFirst(9).prefix(3)) ?? 0) {
                fields[$0] ?? []
            }
            endpoint = WebSocketEndpoint(role: .client, compression: agreement.deflate)
        } catch {
            throw Violation(.answers, "an upgrade was answered with \(head): \(error)")
        }
    }

    private func frames() throws(Violation) -> [ReceivedFrame] {
        var frames: [ReceivedFrame] = []
        var position = 0
        var bytes = unread
        do {
            var span = bytes.mutableSpan
            while let incoming = try endpoint?.next(in: &span, at: &position) {
                let payload = incoming.payload(in: span.span)
                switch incoming.kind {
                case .text:
                    frames.append(.message(try ServerMessage.parse(payload.span)))
                    texts?.append(payload)
                case .ping: frames.append(.ping(payload))
                case .pong: frames.append(.pong)
                case .close(let code): frames.append(.close(code.map { Int($0.rawValue) }))
                case .binary: throw Violation(.answers, "the broker has sent a binary message")
                }
            }
        } catch {
            throw Violation(.answers, "the broker has sent a malformed message: \(error)")
        }
        unread = Array(bytes[position...])
        return frames
    }
}
