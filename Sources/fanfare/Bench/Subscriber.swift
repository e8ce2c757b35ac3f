import HTTP1
import FanfareServer
import Net
import PusherProtocol
import WebSocket

/// One connection that subscribes to the channel and hands what it receives to its audience.
final class Subscriber: StreamOwner {
    /// Its place in the audience.
    let index: Int
    private let audience: Audience
    private var phase: Phase
    private var endpoint = WebSocketEndpoint(role: .client)

    private enum Phase {
        /// Until the server has agreed to speak WebSocket.
        case upgrading(ClientHandshake, ResponseParser)
        /// Until the server has said who the connection is.
        case greeting
        /// Until the subscription is acknowledged.
        case subscribing
        /// All that is left is to listen.
        case listening
    }

    /// A subscriber that waits for its stream.
    ///
    /// - Parameters:
    ///   - index: Its place in the audience.
    ///   - audience: Who is told what it receives.
    ///   - handshake: Its opening handshake, not sent yet.
    init(index: Int, audience: Audience, handshake: ClientHandshake) {
        self.index = index
        self.audience = audience
        phase = .upgrading(handshake, ResponseParser())
    }

    // MARK: Stream

    func streamOpened(_ stream: Stream) {
        guard case .upgrading(let handshake, _) = phase else { return }
        stream.write(handshake.request)
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var position = 0
        let now = MonotonicTime.current
        if case .upgrading(let handshake, let parser) = phase {
            guard upgrade(handshake, parser, bytes.span, &position) else { return position }
        }
        do throws(WebSocketError) {
            while let incoming = try endpoint.next(in: &bytes, at: &position) {
                switch incoming.kind {
                case .text:
                    incoming.withPayload(in: bytes.span) { receive($0, on: stream, at: now) }
                case .binary, .pong: break
                case .ping:
                    let pong = incoming.withPayload(in: bytes.span) {
                        endpoint.pong($0, mask: .random(in: .min ... .max))
                    }
                    if let pong { stream.write(pong) }
                case .close(let code):
                    let reason = incoming.payload(in: bytes.span)
                    fail(
                        "closed by the server with \(code.map { "\($0.rawValue)" } ?? "no code") "
                            + String(decoding: reason, as: UTF8.self)
                    )
                }
            }
        } catch {
            fail("\(error)")
        }
        return position
    }

    func streamReachedEnd(_ stream: Stream) {
        fail("the server ended the connection")
        stream.abort()
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        if error != .shutDown { fail(error.map { "\($0)" } ?? "closed") }
    }

    // MARK: Opening

    /// Reads the server's answer to the opening handshake; true once it has agreed.
    private func upgrade(
        _ handshake: ClientHandshake,
        _ parser: ResponseParser,
        _ bytes: Span<UInt8>,
        _ position: inout Int
    ) -> Bool {
        var parser = parser
        do {
            while true {
                switch try parser.advance(over: bytes, from: &position) {
                case .needsMore:
                    phase = .upgrading(handshake, parser)
                    return false
                case .interim: continue
                case .head(let head):
                    _ = try handshake.verify(status: head.status.code) { head.fields($0) }
                    phase = .greeting
                    return true
                case .content: return false
                }
            }
        } catch {
            fail("\(error)")
            position = bytes.count
            return false
        }
    }

    private func fail(_ reason: String) {
        let reason = reason.printable
        if case .listening = phase {
            audience.fail(.subscriberLost(index: index, reason: reason))
        } else {
            audience.fail(.subscriberRefused(index: index, reason: reason))
        }
    }

    // MARK: Messages

    private func receive(_ text: Span<UInt8>, on stream: Stream, at now: MonotonicTime) {
        if case .listening = phase, audience.deliver(text, to: index, at: now) { return }
        // Rare from here on: what is not an event of this run.
        let message: ServerMessage
        do throws(MessageError) {
            message = try ServerMessage.parse(text)
        } catch {
            return fail("\(error)")
        }
        switch (message, phase) {
        case (.connectionEstablished(let socketID, _), .greeting):
            phase = .subscribing
            send(audience.subscription(of: socketID), on: stream)
        case (.subscriptionSucceeded, .subscribing):
            phase = .listening
            audience.acknowledge()
        case (.subscriptionError(_, let type, let message, let status), _):
            fail("\(type): \(message) (\(status))")
        case (.error(let code, let message), _):
            fail("\(message) (\(code.map { "\($0.rawValue)" } ?? "no code"))")
        case (.ping, _): send(.pong, on: stream)
        default: break
        }
    }

    private func send(_ message: ClientMessage, on stream: Stream) {
        var text: [UInt8] = []
        message.append(to: &text)
        let frame = endpoint.encode(.text, text.span, mask: .random(in: .min ... .max))
        if let frame { stream.write(frame) }
    }
}
