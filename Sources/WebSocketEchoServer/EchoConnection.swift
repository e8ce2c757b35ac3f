import HTTP1
import Net
import WebSocket

/// One connection of the echo server: the opening handshake, then messages back and forth.
final class EchoConnection: StreamOwner {
    /// Bytes in the queue above which reading waits until the peer has read.
    private static let queuedBytesHigh = 1 << 20
    private static let farewellTimeout = Duration.seconds(5)

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

    private func open(_ stream: Stream, _ bytes: Span<UInt8>, _ position: inout Int) {
        do {
            guard case .head(let head) = try parser.advance(over: bytes, from: &position) else {
                return
            }
            let limits = WebSocketLimits(messageLengthMax: 64 << 20)
            do throws(HandshakeRefusal) {
                // No threshold: the suites look at what compression was negotiated for.
                let handshake = ServerHandshake(deflate: DeflateOptions(compressionThreshold: 0))
                let acceptance = try handshake.accept(
                    method: head.method.description,
                    minorVersion: head.minorVersion
                ) { head.fields($0) }
                stream.write(acceptance.response)
                endpoint = WebSocketEndpoint(
                    role: .server,
                    limits: limits,
                    compression: acceptance.deflate
                )
            } catch {
                refuse(stream, .text(error.description, status: Status(error.status)))
            }
        } catch {
            refuse(stream, Response(refusing: error))
        }
    }

    private func refuse(_ stream: Stream, _ response: Response) {
        var response = response
        response.closesConnection = true
        let date = HTTPDate.encode(unixTime: reactor.unixTime)
        stream.write(response.encode(for: AnswerFraming(), date: date))
        stream.close(within: Self.farewellTimeout)
    }

    private func echo(
        _ stream: Stream,
        _ bytes: inout MutableSpan<UInt8>,
        _ position: inout Int
    ) {
        do throws(WebSocketError) {
            while let incoming = try endpoint?.next(in: &bytes, at: &position) {
                switch incoming.kind {
                case .text: answer(.text, incoming, bytes.span, stream)
                case .binary: answer(.binary, incoming, bytes.span, stream)
                case .ping:
                    let pong = incoming.withPayload(in: bytes.span) { endpoint?.pong($0) }
                    stream.write(pong ?? [])
                case .pong: break
                case .close:
                    stream.write(endpoint?.answerClose() ?? [])
                    stream.close(within: Self.farewellTimeout)
                }
            }
        } catch {
            stream.write(endpoint?.close(error.closeCode, reason: error.description) ?? [])
            stream.close(within: Self.farewellTimeout)
        }
    }

    private func answer(
        _ kind: MessageKind,
        _ incoming: Incoming,
        _ bytes: Span<UInt8>,
        _ stream: Stream
    ) {
        let frame = incoming.withPayload(in: bytes) { endpoint?.encode(kind, $0) }
        stream.write(frame ?? [])
    }
}
