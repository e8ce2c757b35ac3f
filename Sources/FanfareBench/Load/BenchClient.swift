import Glibc
import HTTP1
import Net
import Primitives
import PusherProtocol
import WebSocket

/// Receives the events of a benchmark's clients.
///
/// All calls come on the loop's thread.
protocol BenchClientDelegate: AnyObject {
    func clientConnected(_ client: BenchClient)
    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime)
    /// Called when a subscribed client has received a text message.
    ///
    /// - Returns: Whether the message is an event of the benchmark; the client handles all others.
    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    /// Called when a connection that the client closed is closed; cleanly if the server answered its close frame.
    func clientClosed(_ client: BenchClient, isClean: Bool)
    /// Called when the server closes a connection, or the connection is lost.
    ///
    /// - Returns: Whether the benchmark counts it; otherwise it ends the run.
    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool
}

extension BenchClientDelegate {
    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    { false }

    func clientClosed(_ client: BenchClient, isClean: Bool) {}

    /// Returns false: a lost connection is a failure.
    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool { false }
}

final class BenchClient: StreamDelegate {
    let index: Int
    /// Whether the server has granted permessage-deflate.
    private(set) var isCompressed = false
    /// The number of members in the acknowledgement of the subscription, including this one.
    private(set) var memberCount = 0
    /// The relation of the subscription to the client's position; nil where the server has no positions.
    private(set) var start: SubscriptionStart?
    private let delegate: any BenchClientDelegate
    private var socketID: SocketID?
    private let generator: LoadGenerator
    private var stream: Stream?
    private var phase: Phase
    private var endpoint = WebSocketEndpoint(role: .client)

    private enum Phase {
        case upgrading(ClientHandshake, ResponseParser)
        case awaitingSocketID
        case unsubscribed
        case subscribed
        case closing
        /// The failure has been reported.
        case failed
    }

    init(
        _ index: Int,
        _ delegate: any BenchClientDelegate,
        _ handshake: ClientHandshake,
        _ generator: LoadGenerator
    ) {
        self.index = index
        self.delegate = delegate
        self.generator = generator
        phase = .upgrading(handshake, ResponseParser())
    }

    // MARK: Commands

    /// Subscribes to a channel once connected; ``BenchClientDelegate/clientSubscribed(_:at:)`` follows.
    ///
    /// A member of a presence channel has a user ID that needs no escaping in JSON. A client that tracks the channel
    /// has a position to resume from.
    func subscribe(
        to channel: ChannelName,
        as userID: String? = nil,
        from position: PositionRequest? = nil
    ) {
        guard let socketID else { return }
        phase = .unsubscribed
        let target = generator.target
        let data = userID.map { #"{"user_id":"\#($0)"}"# }
        let auth =
            channel.kind.requiresSignature
            ? ChannelSignature.auth(
                socketID: socketID,
                channel: channel.text,
                channelData: data,
                key: target.key,
                secret: target.secret
            ) : nil
        send(.subscribe(channel: channel.text, auth: auth, channelData: data, position: position))
    }

    /// Unsubscribes from a channel; the server does not acknowledge this.
    func unsubscribe(from channel: ChannelName) { send(.unsubscribe(channel: channel.text)) }

    /// Starts the closing handshake (RFC 6455 §7); ``BenchClientDelegate/clientClosed(_:isClean:)`` follows.
    func close() {
        let frame = endpoint.close(.normal, mask: generator.maskingKey())
        guard let frame else { return }
        phase = .closing
        stream?.write(frame)
    }

    /// Resets the connection, as a lost network would; ``BenchClientDelegate/clientClosed(_:isClean:)`` follows.
    func reset() {
        guard let stream else { return }
        phase = .closing
        // With a linger time of 0 the kernel sends RST instead of FIN.
        var linger = linger(l_onoff: 1, l_linger: 0)
        let length = socklen_t(MemoryLayout.size(ofValue: linger))
        setsockopt(stream.fd, SOL_SOCKET, SO_LINGER, &linger, length)
        stream.abort()
    }

    /// Stops reading: data accumulates in the kernel's buffers, then in the server's queue.
    func pauseReading() { stream?.pauseReading() }
    func resumeReading() { stream?.resumeReading() }

    /// Sends a message; the client ignores the answer.
    func send(_ message: ClientMessage) {
        var text: [UInt8] = []
        message.append(to: &text)
        let frame = endpoint.encode(.text, text.span, mask: generator.maskingKey())
        if let frame { stream?.write(frame) }
    }

    // MARK: StreamDelegate

    func streamOpened(_ stream: Stream) {
        guard case .upgrading(let handshake, _) = phase else { return }
        self.stream = stream
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
                case .text: incoming.withPayload(in: bytes.span) { receive($0, at: now) }
                case .binary, .pong: break
                case .ping:
                    let pong = incoming.withPayload(in: bytes.span) {
                        endpoint.pong($0, mask: generator.maskingKey())
                    }
                    if let pong { stream.write(pong) }
                case .close(let code):
                    let reason = incoming.payload(in: bytes.span)
                    closed(with: code, String(decoding: reason, as: UTF8.self))
                }
            }
        } catch {
            fail("\(error)")
        }
        generator.traffic.readCount += 1
        generator.traffic.byteCount += position
        return position
    }

    func streamReachedEnd(_ stream: Stream) {
        if case .closing = phase {
            // The server closes first (RFC 6455 §7.1.1), so that TIME_WAIT is on its side.
            stream.close(within: .seconds(1))
        } else {
            fail("the server ended the connection")
            stream.abort()
        }
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        self.stream = nil
        if error == .shutDown { return }
        if case .closing = phase {
            delegate.clientClosed(self, isClean: endpoint.isCloseReceived)
        } else {
            fail(error.map { "\($0)" } ?? "closed")
        }
    }

    // MARK: Handshake

    /// Parses the response to the opening handshake; returns whether the connection is upgraded.
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
                    let status = head.status.code
                    let agreed = try handshake.verify(status: status) { head.fields($0) }
                    isCompressed = agreed.deflate != nil
                    endpoint = WebSocketEndpoint(role: .client, compression: agreed.deflate)
                    phase = .awaitingSocketID
                    return true
                case .content: return false
                }
            }
        } catch HandshakeFailure.status(let status) {
            fail("\(HandshakeFailure.status(status))", hint: ErrorHint.forUpgrade(status: status))
        } catch {
            fail("\(error)")
        }
        position = bytes.count
        return false
    }

    // MARK: Messages

    private func receive(_ text: Span<UInt8>, at now: MonotonicTime) {
        if case .subscribed = phase, delegate.clientReceived(text, by: self, at: now) { return }
        // Rare from here on: messages that are not events of the benchmark.
        let message: ServerMessage
        do throws(MessageError) {
            message = try ServerMessage.parse(text)
        } catch {
            return fail("\(error)")
        }
        switch (message, phase) {
        case (.connectionEstablished(let socketID, _, _), .awaitingSocketID):
            phase = .unsubscribed
            self.socketID = socketID
            delegate.clientConnected(self)
        case (.subscriptionSucceeded(_, let data), .unsubscribed):
            phase = .subscribed
            memberCount = Self.memberCount(in: data)
            start = SubscriptionStart(acknowledgement: data)
            delegate.clientSubscribed(self, at: now)
        case (.subscriptionError(_, let type, let message, let status), _):
            fail("\(type): \(message) (\(status))", hint: ErrorHint.forSubscription(status: status))
        case (.error(let code, let message), _):
            fail(with: code?.rawValue) { "\(message) (\($0))" }
        case (.ping, _): send(.pong)
        default: break
        }
    }

    /// The `count` at the end of a presence channel's acknowledgement; 0 where there is none.
    private static func memberCount(in data: String) -> Int {
        let tail = data.utf8.suffix(24)
        guard let start = tail.lastIndex(of: UInt8(ascii: ":")) else { return 0 }
        let digits = tail[tail.index(after: start)...].prefix { $0 != UInt8(ascii: "}") }
        return Int(Substring(digits)) ?? 0
    }

    // MARK: Closing

    private func closed(with code: CloseCode?, _ reason: String) {
        if case .closing = phase { return }
        fail(with: code.map { Int($0.rawValue) }) { "closed by the server with \($0) \(reason)" }
    }

    private func fail(with code: Int?, _ reason: (_ code: String) -> String) {
        let hint = code.flatMap { ErrorHint.forCode($0) }
        fail(reason(code.map { "\($0)" } ?? "no code"), hint: hint, code: code)
    }

    private func fail(_ reason: String, hint: String? = nil, code: Int? = nil) {
        let wasSubscribed = if case .subscribed = phase { true } else { false }
        if case .failed = phase { return }
        phase = .failed
        let disconnection = Disconnection(wasSubscribed: wasSubscribed, code: code)
        if delegate.clientDisconnected(self, disconnection) { return }
        let sentence = ErrorHint.append(hint, to: reason.printable)
        generator.fail(
            wasSubscribed
                ? .connectionLost(index: index, reason: sentence)
                : .connectionRefused(index: index, reason: sentence)
        )
    }
}
