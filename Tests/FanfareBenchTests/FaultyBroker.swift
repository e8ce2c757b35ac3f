import HTTP1
import Net
import PusherProtocol
import WebSocket

/// The fault of a ``FaultyBroker``.
///
/// The first subscriber is the one that subscribed first.
enum BrokerFault: Sendable {
    case none
    /// The first subscriber does not receive the event with this number.
    case loses(Int)
    /// The first subscriber receives the event with this number twice.
    case duplicates(Int)
    /// The first subscriber receives the event with this number after the next one.
    case swaps(Int)
    /// Events are answered with 401.
    case refusesEvents
    /// Events are not answered.
    case answersNoEvents
    /// Subscriptions are answered with an error.
    case refusesSubscriptions
    /// Subscriptions are not answered.
    case answersNoSubscriptions
    /// The first subscriber is closed with a close code at the event with this number.
    case closesFirst(Int)
    /// Each answer has `Connection: close`, and the connection is closed after it.
    case closesAfterAnswers
    /// A ping of WebSocket and one of Pusher precede each event.
    case pings
    /// The first subscriber of another channel receives the event with this number too.
    case misdirects(Int)
    /// No fault; events are compressed.
    case compresses
    /// Opening handshakes are answered with 403.
    case refusesUpgrades
    /// The answer to a close frame is the end of the connection, without a close frame.
    case closesWithoutFrame
    /// Close frames are not answered.
    case answersNoCloses
    /// The first observer does not receive the notice with this number.
    case losesNotice(Int)
    /// The first observer receives the notice with this number twice.
    case duplicatesNotice(Int)
    /// No fault: each event whose number is a multiple of this is answered 503 with Retry-After, and not delivered.
    case refusesEvery(Int)
    /// The same without Retry-After.
    case refusesBriefly(Int)
    /// The event with this number is answered 503, but delivered.
    case deliversRefused(Int)
    /// The connection of the event with this number ends before the answer.
    case endsConnection(Int)
    /// The event with this number on the unrelated channel is not delivered.
    case losesUnrelated(Int)
}

/// A server of the Pusher protocol with one fault, on a free port of the loopback address.
actor FaultyBroker: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let port: UInt16
    private let reactor: Reactor
    private let channels: FaultyChannels
    private var isStopping = false

    private init(_ fault: BrokerFault, isSecure: Bool, loop: EventLoop) throws {
        self.loop = loop
        let reactor = try Reactor(loop: loop)
        self.reactor = reactor
        let (channels, presence) = (FaultyChannels(fault), FaultyPresence(fault))
        self.channels = channels
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw NoLoopback() }
        let tls = isSecure ? try Self.tls() : nil
        let listener = try reactor.listen(on: address, tls: tls) { _, _ in
            FaultyConnection(channels, presence)
        }
        port = listener.address.port ?? 0
    }

    /// Starts a broker.
    static func start(_ fault: BrokerFault, isSecure: Bool = false) throws -> FaultyBroker {
        let broker = try FaultyBroker(fault, isSecure: isSecure, loop: EventLoop(name: "faulty"))
        try broker.loop.start(broker)
        return broker
    }

    private static func tls() throws -> TLSContext {
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["127.0.0.1"], days: 1)
        return try .server([TLSCertificate(certificatePEM: certificate, keyPEM: key)])
    }

    func stop() {
        reactor.shutDown()
        channels.clear()
        isStopping = true
    }

    func turn() -> Bool {
        // First: a job that stops the broker runs between two turns, and the next poll might not return.
        guard !isStopping else { return false }
        reactor.turn()
        return true
    }
}

private struct NoLoopback: Error {}

/// The channels' subscribers.
private final class FaultyChannels {
    let fault: BrokerFault
    private var members: [(FaultyConnection, stream: Stream, channel: String)] = []
    private(set) var sequence = 0
    private var unrelatedSequence = 0
    private var held: [UInt8]?
    /// The compression, once a connection has negotiated it.
    var deflate: NegotiatedDeflate?

    init(_ fault: BrokerFault) { self.fault = fault }

    func join(_ connection: FaultyConnection, _ stream: Stream, _ channel: String) {
        members.append((connection, stream, channel))
    }

    /// Releases the members, which refer to this object.
    func clear() { members = [] }

    /// Whether the channel is the unrelated one: its events are not numbered and have no fault.
    static func isUnrelated(_ channel: String) -> Bool { channel.hasSuffix("-unrelated") }

    /// Counts an event that is not delivered.
    func skip() { sequence += 1 }

    func publish(_ publication: Publication) {
        for channel in publication.channels {
            var text: [UInt8] = []
            publication.appendEnvelope(for: channel, to: &text)
            var endpoint = WebSocketEndpoint(role: .server, compression: deflate)
            if let frame = endpoint.encode(.text, text.span) { send(frame, to: channel.text) }
        }
    }

    private func send(_ frame: [UInt8], to channel: String) {
        guard !Self.isUnrelated(channel) else {
            defer { unrelatedSequence += 1 }
            if case .losesUnrelated(unrelatedSequence) = fault { return }
            for member in members where member.channel == channel { member.stream.write(frame) }
            return
        }
        defer { sequence += 1 }
        if case .misdirects(sequence) = fault {
            members.first { $0.channel != channel }?.stream.write(frame)
        }
        for (index, (connection, stream, own)) in members.enumerated() {
            if case .pings = fault { connection.ping(stream) }
            guard own == channel else { continue }
            guard index == 0 else {
                stream.write(frame)
                continue
            }
            switch fault {
            case .loses(sequence): break
            case .duplicates(sequence): for _ in 0..<2 { stream.write(frame) }
            case .swaps(sequence): held = frame
            case .closesFirst(sequence):
                stream.write(FrameEncoder.close(CloseCode(rawValue: 4100), reason: "full"))
            default:
                stream.write(frame)
                if let held { stream.write(held) }
                held = nil
            }
        }
    }
}

/// A connection of WebSocket or of the HTTP API.
private final class FaultyConnection: StreamDelegate {
    private let channels: FaultyChannels
    private let presence: FaultyPresence
    private var parser = RequestParser()
    private var endpoint: WebSocketEndpoint?

    init(_ channels: FaultyChannels, _ presence: FaultyPresence) {
        self.channels = channels
        self.presence = presence
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var position = 0
        do {
            while endpoint == nil {
                switch try parser.advance(over: bytes.span, from: &position) {
                case .needsMore: return position
                case .head(let head):
                    guard head.isUpgrade else { continue }
                    if case .refusesUpgrades = channels.fault {
                        stream.write(
                            Array("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".utf8)
                        )
                        return bytes.count
                    }
                    let compresses = if case .compresses = channels.fault { true } else { false }
                    let deflate = compresses ? DeflateOptions(clientNoContextTakeover: true) : nil
                    let upgrade = try ServerHandshake(deflate: deflate).accept(
                        method: "GET",
                        minorVersion: 1,
                        fields: { head.fields($0) }
                    )
                    stream.write(upgrade.response)
                    endpoint = WebSocketEndpoint(role: .server, compression: upgrade.deflate)
                    channels.deflate = upgrade.deflate
                    send(
                        .connectionEstablished(socketID: SocketID(1, 2), activityTimeout: 120),
                        stream
                    )
                case .content(let content):
                    answer(content.copy(from: bytes.span), stream)
                    // Requests behind an answer with `Connection: close` are ignored.
                    if stream.isClosing { return bytes.count }
                }
            }
            while let incoming = try endpoint?.next(in: &bytes, at: &position) {
                if case .close = incoming.kind { close(stream) }
                guard incoming.kind == .text else { continue }
                let text = incoming.payload(in: bytes.span)
                switch try ClientMessage.parse(text.span) {
                case .subscribe(let channel, _, let data?, _): presence.join(stream, channel, data)
                case .subscribe(let channel, _, nil, _): subscribe(channel, stream)
                case .unsubscribe(let channel): presence.leave(stream, channel)
                default: break
                }
            }
        } catch {
            stream.abort()
        }
        return position
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {}

    func ping(_ stream: Stream) {
        stream.write(FrameEncoder.frame(.ping, payload: [1, 2, 3].span))
        send(.ping, stream)
    }

    private func close(_ stream: Stream) {
        switch channels.fault {
        case .answersNoCloses: break
        case .closesWithoutFrame: stream.close(within: .seconds(1))
        default:
            if let frame = endpoint?.answerClose() { stream.write(frame) }
            stream.close(within: .seconds(1))
        }
    }

    private func subscribe(_ channel: String, _ stream: Stream) {
        switch channels.fault {
        case .answersNoSubscriptions: break
        case .refusesSubscriptions:
            send(
                .subscriptionError(
                    channel: channel,
                    type: "AuthError",
                    message: "no\u{1B}[2J",
                    status: 401
                ),
                stream
            )
        default:
            channels.join(self, stream, channel)
            send(.subscriptionSucceeded(channel: channel, data: "{}"), stream)
        }
    }

    private func send(_ message: ServerMessage, _ stream: Stream) {
        let text = message.bytes
        stream.write(FrameEncoder.frame(.text, payload: text.span))
    }

    private func answer(_ body: [UInt8], _ stream: Stream) {
        switch channels.fault {
        case .answersNoEvents: return
        case .refusesEvents:
            stream.write(
                Array("HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nno\u{1B}!".utf8)
            )
            return
        default:
            guard let publication = try? TriggerRequest.parse(body.span) else {
                return stream.abort()
            }
            let isUnrelated = publication.channels.contains { FaultyChannels.isUnrelated($0.text) }
            if !isUnrelated, refuses(publication, stream) { return }
            channels.publish(publication)
            let isLast = if case .closesAfterAnswers = channels.fault { true } else { false }
            let close = isLast ? "Connection: close\r\n" : ""
            stream.write(Array("HTTP/1.1 200 OK\r\n\(close)Content-Length: 2\r\n\r\n{}".utf8))
            if isLast { stream.close(within: .seconds(1)) }
        }
    }

    /// Answers an event with a fault instead of 200; returns whether it did.
    private func refuses(_ publication: Publication, _ stream: Stream) -> Bool {
        let number = channels.sequence
        var field = "Retry-After: 1\r\n"
        switch channels.fault {
        case .refusesEvery(let count) where number.isMultiple(of: count): channels.skip()
        case .refusesBriefly(let count) where number.isMultiple(of: count):
            channels.skip()
            field = ""
        case .deliversRefused(number): channels.publish(publication)
        case .endsConnection(number):
            channels.skip()
            stream.abort()
            return true
        default: return false
        }
        let head = "HTTP/1.1 503 Service Unavailable\r\n\(field)Content-Length: 0\r\n\r\n"
        stream.write(Array(head.utf8))
        return true
    }
}
