import Broker
import Net
import PusherProtocol
import Shard
import WebSocket

/// A WebSocket that carries the messages of a connection.
final class WebSocketTransport: CarryingTransport {
    let stream: Stream
    private let deflater: SharedDeflater?
    // Exclusive access is not checked: the endpoint calls nothing that re-enters the transport.
    @exclusivity(unchecked) private var endpoint: WebSocketEndpoint
    @exclusivity(unchecked) private(set) var connection: Connection?
    /// Whether the shard's ``IncompleteMessages`` have an entry for the connection.
    @exclusivity(unchecked) private var holdsIncompleteMessage = false

    /// Creates the transport of an upgraded stream; ``carry(_:)`` follows.
    init(
        _ stream: Stream,
        _ endpoint: consuming WebSocketEndpoint,
        deflaters: SharedDeflaters
    ) {
        self.stream = stream
        deflater = endpoint.sharedWindowBits.map { deflaters[$0] }
        self.endpoint = endpoint
    }

    /// Delivers the messages that arrive to a connection.
    func carry(_ connection: Connection) { self.connection = connection }

    // MARK: - Sending

    var encoder: (any EnvelopeEncoder)? { deflater }

    func encode(_ message: ServerMessage) -> [UInt8] {
        var frame: [UInt8] = []
        frame.reserveCapacity(128)
        append(message, to: &frame)
        return frame
    }

    /// Appends a message to other output.
    func append(_ message: ServerMessage, to bytes: inout [UInt8]) {
        endpoint.append(.text, to: &bytes) { message.append(to: &$0) }
    }

    func write(_ frame: consuming [UInt8]) {
        if let connection, connection.context.isObserved(.frames), !frame.isEmpty {
            connection.trace(sent: Self.text(of: frame))
        }
        stream.write(frame)
    }

    func write(_ envelope: Envelope) { write(envelope.frame) }

    func ping(number: UInt16?) {
        var payload: [UInt8] = []
        if let number { payload = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }
        if let frame = endpoint.ping(payload.span) { write(frame) }
    }

    // MARK: - Closing

    func stopReceiving() {
        // The peer may close late, and the rest of the message is not read.
        endpoint.discardIncompleteMessage()
        releaseIncompleteMessage()
    }

    func close(_ code: PusherCode, reason: String) {
        finish(with: endpoint.close(code.closeCode, reason: reason))
    }

    /// Closes with a code of the WebSocket protocol.
    private func close(_ code: CloseCode, reason: String) {
        let ending = ConnectionRecord.Ending(code: Int(code.rawValue))
        guard connection?.beginClosing(ending) == true else { return }
        finish(with: endpoint.close(code, reason: reason))
    }

    private func answerClose() {
        let ending = ConnectionRecord.Ending(isByClient: true)
        guard connection?.beginClosing(ending) == true else { return }
        // RFC 6455 §5.5.1: the client sends nothing after its close frame.
        finish(with: endpoint.answerClose(), peerIsDone: true)
    }

    private func finish(with frame: [UInt8]?, peerIsDone: Bool = false) {
        if let frame { write(frame) }
        let timeout = connection?.context.settings.closeTimeout ?? .zero
        stream.close(within: timeout, peerIsDone: peerIsDone)
    }

    // MARK: - Incomplete messages

    private func holdIncompleteMessage(_ connection: Connection) {
        guard !connection.isClosing else { return }
        holdsIncompleteMessage = true
        connection.holdsIncompleteMessage(of: endpoint.incompleteMessageSize)
    }

    private func releaseIncompleteMessage() {
        guard holdsIncompleteMessage else { return }
        holdsIncompleteMessage = false
        connection?.holdsIncompleteMessage(of: nil)
    }
}

extension WebSocketTransport {
    /// The maximum effort for one client's messages in one turn, in bytes.
    ///
    /// A few compressed bytes can be a long message, and one read can contain thousands of short ones. Other clients
    /// are served in between.
    private static var effortMax: Int { 128 << 10 }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        guard let connection else { return bytes.count }
        connection.received()
        var position = 0
        var effort = 0
        do {
            while connection.mayReceive, effort < Self.effortMax,
                let incoming = try endpoint.next(in: &bytes, at: &position)
            {
                incoming.withPayload(in: bytes.span) {
                    effort += $0.count + receive(incoming.kind, $0, connection)
                }
            }
        } catch {
            if let limit = error.limit { connection.context.limitMet(limit, of: connection.app.id) }
            close(error.closeCode, reason: error.description)
        }
        if endpoint.hasIncompleteMessage { holdIncompleteMessage(connection) }
        if connection.isClosing { return bytes.count }
        if position < bytes.count, connection.mayReceive, effort >= Self.effortMax {
            stream.redeliverUnread()
        }
        return position
    }

    /// Handles a message or control frame, and returns its effort besides its length, in bytes.
    private func receive(
        _ kind: Incoming.Kind,
        _ payload: Span<UInt8>,
        _ connection: Connection
    ) -> Int {
        switch kind {
        case .text:
            releaseIncompleteMessage()
            return connection.receive(text: payload)
        case .binary: close(.unsupportedData, reason: "Messages are text frames")
        case .ping: if let frame = endpoint.pong(payload) { write(frame) }
        case .pong:
            // The broker's pings that ask for a confirmation have a number.
            if payload.count == 2 {
                connection.receivePong(number: UInt16(payload[0]) << 8 | UInt16(payload[1]))
            }
        case .close: answerClose()
        }
        return Connection.messageEffort
    }

    func streamReachedEnd(_ stream: Stream) {
        if connection?.beginClosing() == true { finish(with: nil) }
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        connection?.closed()
        connection = nil
    }
}

/// A shard's compressors, one for each window size, created on first use.
final class SharedDeflaters {
    private let options: DeflateOptions
    private var deflaters: [Int: SharedDeflater] = [:]

    init(options: DeflateOptions?) { self.options = options ?? DeflateOptions() }

    subscript(windowBits: Int) -> SharedDeflater {
        if let deflater = deflaters[windowBits] { return deflater }
        let deflater = SharedDeflater(windowBits: windowBits, options: options)
        deflaters[windowBits] = deflater
        return deflater
    }
}

extension SharedDeflater: EnvelopeEncoder {
    /// The compressed frame, if compression makes it shorter; otherwise the envelope's own.
    func encode(_ envelope: Envelope) -> [UInt8] {
        textFrame(envelope.frame.span.extracting(envelope.headerLength...)) ?? envelope.frame
    }
}

extension WebSocketError {
    /// The limit that is reached, if that is the error.
    fileprivate var limit: Limit? {
        switch self {
        case .messageTooLong: .messageLength
        case .tooManyFragments: .messageFragments
        default: nil
        }
    }
}
