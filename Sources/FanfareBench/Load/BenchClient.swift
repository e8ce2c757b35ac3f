import FanfareServer
import Glibc
import HTTP1
import Net
import PusherProtocol
import WebSocket

/// Those that the clients of a benchmark belong to: is told what each of them hears.
///
/// All calls come on the loop's thread. A client is closed after ``clientFailed(_:)``, not before.
protocol BenchClientDelegate: AnyObject {
    /// The server has told a client who it is.
    func clientConnected(_ client: BenchClient, as socketID: SocketID)
    /// The server has acknowledged what a client subscribed to.
    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime)
    /// A client with a subscription has received a text message.
    ///
    /// - Returns: Whether it is one that the benchmark made; what is not, the client reads itself.
    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    /// A client that was to leave has left.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - isClean: Whether the server answered its close frame.
    func clientClosed(_ client: BenchClient, isClean: Bool)
    /// A connection has ended that was not to, or will: the server closes it.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - disconnection: How.
    /// - Returns: Whether that is something the benchmark counts; what is not, it fails with.
    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool
    /// Something went wrong with a client.
    func clientFailed(_ error: BenchError)
}

extension BenchClientDelegate {
    /// Nothing: clients are not asked to leave.
    func clientClosed(_ client: BenchClient, isClean: Bool) {}

    /// Nothing is: a connection that ends is a failure.
    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool { false }
}

/// One WebSocket connection of a benchmark, which hands what it hears to its delegate.
final class BenchClient: StreamDelegate {
    /// Its place in the delegate.
    let index: Int
    /// Whether the server has granted it permessage-deflate.
    private(set) var isCompressed = false
    /// How many members the channel had, itself included, when its subscription was acknowledged.
    private(set) var memberCount = 0
    private let delegate: any BenchClientDelegate
    private let traffic: Traffic
    private var stream: Stream?
    private var phase: Phase
    private var endpoint = WebSocketEndpoint(role: .client)

    private enum Phase {
        /// Until the server has agreed to speak WebSocket.
        case upgrading(ClientHandshake, ResponseParser)
        /// Until the server has said who the connection is.
        case awaitingSocketID
        /// Subscribed to nothing, or not yet.
        case unsubscribed
        /// Subscribed.
        case subscribed
        /// The close frame is sent.
        case closing
        /// It has failed, and has said so.
        case failed
    }

    /// A client that waits for its stream.
    ///
    /// - Parameters:
    ///   - index: Its place in the delegate.
    ///   - delegate: Who is told what it hears.
    ///   - traffic: Counts what it reads.
    ///   - handshake: Its opening handshake, not sent yet.
    init(
        index: Int,
        delegate: any BenchClientDelegate,
        traffic: Traffic,
        handshake: ClientHandshake
    ) {
        self.index = index
        self.delegate = delegate
        self.traffic = traffic
        phase = .upgrading(handshake, ResponseParser())
    }

    // MARK: For the delegate

    /// Subscribes to a channel; the delegate is told when that is acknowledged.
    ///
    /// - Parameter subscription: The message that does it.
    func subscribe(_ subscription: ClientMessage) {
        phase = .unsubscribed
        send(subscription)
    }

    /// Leaves a channel; the server says nothing to that.
    func unsubscribe(from channel: ChannelName) { send(.unsubscribe(channel: channel.text)) }

    /// Closes the connection as RFC 6455 §7 wants it; the delegate is told when it is closed.
    func close() {
        let frame = endpoint.close(.normal, mask: .random(in: .min ... .max))
        guard let frame else { return }
        phase = .closing
        stream?.write(frame)
    }

    /// Ends the connection without a word, as a network does that has gone; the delegate is told when it is closed.
    func reset() {
        guard let stream else { return }
        phase = .closing
        // Nothing is kept for a peer that is gone: a reset goes out instead of the connection's end.
        var linger = linger(l_onoff: 1, l_linger: 0)
        let length = socklen_t(MemoryLayout.size(ofValue: linger))
        setsockopt(stream.fd, SOL_SOCKET, SO_LINGER, &linger, length)
        stream.abort()
    }

    /// Stops reading: what is sent to it waits in the kernel, and then with the server.
    func pauseReading() { stream?.pauseReading() }

    /// Reads again.
    func resumeReading() { stream?.resumeReading() }

    /// Sends a message whose answer, if there is one, is no concern of the client.
    func send(_ message: ClientMessage) {
        var text: [UInt8] = []
        message.append(to: &text)
        let frame = endpoint.encode(.text, text.span, mask: .random(in: .min ... .max))
        if let frame { stream?.write(frame) }
    }

    // MARK: Stream

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
                        endpoint.pong($0, mask: .random(in: .min ... .max))
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
        traffic.count(position)
        return position
    }

    func streamReachedEnd(_ stream: Stream) {
        if case .closing = phase {
            // The server closes first (RFC 6455 §7.1.1), so its side keeps the address busy.
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
        // Rare from here on: what the benchmark did not make.
        let message: ServerMessage
        do throws(MessageError) {
            message = try ServerMessage.parse(text)
        } catch {
            return fail("\(error)")
        }
        switch (message, phase) {
        case (.connectionEstablished(let socketID, _), .awaitingSocketID):
            phase = .unsubscribed
            delegate.clientConnected(self, as: socketID)
        case (.subscriptionSucceeded(_, let data), .unsubscribed):
            phase = .subscribed
            memberCount = Self.memberCount(in: data)
            delegate.clientSubscribed(self, at: now)
        case (.subscriptionError(_, let type, let message, let status), _):
            fail("\(type): \(message) (\(status))", hint: ErrorHint.forSubscription(status: status))
        case (.error(let code, let message), _):
            let hint = code.flatMap { ErrorHint.forCode($0.rawValue) }
            let number = code.map { "\($0.rawValue)" } ?? "no code"
            fail("\(message) (\(number))", hint: hint, code: code?.rawValue)
        case (.ping, _): send(.pong)
        default: break
        }
    }

    /// The `count` that ends the data of a presence channel's acknowledgement; 0 where there is none.
    private static func memberCount(in data: String) -> Int {
        let tail = data.utf8.suffix(24)
        guard let start = tail.lastIndex(of: UInt8(ascii: ":")) else { return 0 }
        let digits = tail[tail.index(after: start)...].prefix { $0 != UInt8(ascii: "}") }
        return Int(Substring(digits)) ?? 0
    }

    // MARK: The end

    private func closed(with code: CloseCode?, _ reason: String) {
        if case .closing = phase { return }
        let number = code.map { "\($0.rawValue)" } ?? "no code"
        let hint = code.flatMap { ErrorHint.forCode(Int($0.rawValue)) }
        let sentence = "closed by the server with \(number) \(reason)"
        fail(sentence, hint: hint, code: code.map { Int($0.rawValue) })
    }

    private func fail(_ reason: String, hint: String? = nil, code: Int? = nil) {
        let wasSubscribed = if case .subscribed = phase { true } else { false }
        if case .failed = phase { return }
        phase = .failed
        if delegate.clientDisconnected(
            self,
            Disconnection(wasSubscribed: wasSubscribed, code: code)
        ) {
            return
        }
        let sentence = ErrorHint.append(hint, to: reason.printable)
        delegate.clientFailed(
            wasSubscribed
                ? .connectionLost(index: index, reason: sentence)
                : .connectionRefused(index: index, reason: sentence)
        )
    }
}
