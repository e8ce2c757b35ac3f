import HTTP1
import Net
import WebSocket

/// A connection of the echo server: the opening handshake, then the echoes.
final class EchoConnection: StreamDelegate {
    /// The number of queued bytes above which reading pauses until they are sent.
    private static let queuedBytesHigh = 1 << 20
    /// The time for a peer to close its side.
    private static let closeTimeout = Duration.seconds(5)
    /// Far above the suites' messages, so that no case fails because of a limit.
    private static let limits = WebSocketLimits(messageLengthMax: 64 << 20)

    private let reactor: Reactor
    private var parser = RequestParser()
    private var endpoint: WebSocketEndpoint?

    init(reactor: Reactor) { self.reactor = reactor }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var position = 0
        if endpoint == nil { open(stream, bytes.span, &position) }
        guard endpoint != nil else { return position }
        echo(stream, &bytes, &position)
        if stream.queuedByteCount > Self.queuedBytesHigh { stream.pauseReading() }
        return position
    }

    func streamDrained(_ stream: Stream) { stream.resumeReading() }

    func streamClosed(_ stream: Stream, error: StreamError?) {}

    // MARK: Opening

    private func open(_ stream: Stream, _ bytes: Span<UInt8>, _ position: inout Int) {
        do throws(HTTPError) {
            guard case .head(let head) = try parser.advance(over: bytes, from: &position) else {
                return
            }
            answer(head, stream)
        } catch {
            refuse(stream, Response(refusing: error))
        }
    }

    private func answer(_ head: RequestHead, _ stream: Stream) {
        do throws(HandshakeRefusal) {
            // No threshold: the suites expect every message to be compressed as negotiated.
            let handshake = ServerHandshake(deflate: DeflateOptions(compressionThreshold: 0))
            let acceptance = try handshake.accept(
                method: head.method.description,
                minorVersion: head.minorVersion
            ) { head.fields($0) }
            stream.write(acceptance.response)
            endpoint = WebSocketEndpoint(
                role: .server,
                limits: Self.limits,
                compression: acceptance.deflate
            )
        } catch {
            refuse(stream, .text(error.description, status: Status(error.status)))
        }
    }

    private func refuse(_ stream: Stream, _ response: Response) {
        var response = response
        response.closesConnection = true
        let date = HTTPDate.encode(unixTime: reactor.unixTime)
        stream.write(response.encode(for: AnswerFraming(), date: date))
        stream.close(within: Self.closeTimeout)
    }

    // MARK: Messages

    /// Handles received messages until too many bytes are queued.
    private func echo(
        _ stream: Stream,
        _ bytes: inout MutableSpan<UInt8>,
        _ position: inout Int
    ) {
        do throws(WebSocketError) {
            // A read may contain thousands of small messages, or compressed ones.
            while stream.queuedByteCount <= Self.queuedBytesHigh,
                let incoming = try endpoint?.next(in: &bytes, at: &position)
            {
                answer(incoming, bytes.span, stream)
            }
        } catch {
            let frame = endpoint?.close(error.closeCode, reason: error.description)
            if let frame { stream.write(frame) }
            stream.close(within: Self.closeTimeout)
        }
    }

    private func answer(_ incoming: Incoming, _ bytes: Span<UInt8>, _ stream: Stream) {
        let frame: [UInt8]? =
            switch incoming.kind {
            case .text: incoming.withPayload(in: bytes) { endpoint?.encode(.text, $0) }
            case .binary: incoming.withPayload(in: bytes) { endpoint?.encode(.binary, $0) }
            case .ping: incoming.withPayload(in: bytes) { endpoint?.pong($0) }
            case .pong: nil
            case .close: endpoint?.answerClose()
            }
        if let frame { stream.write(frame) }
        // RFC 6455 §7.1.1: the server closes the TCP connection.
        if endpoint?.isClosed == true { stream.close(within: Self.closeTimeout) }
    }
}
