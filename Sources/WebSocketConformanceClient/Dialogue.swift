import HTTP1
import Net
import WebSocket

/// One WebSocket to the fuzzing server, from the opening handshake to the end of the connection.
final class Dialogue: StreamDelegate, TimerTarget {
    /// How a dialogue ended.
    enum Ending: Sendable {
        /// There was a WebSocket; the last message, unless it was sent back.
        case held(lastMessage: [UInt8]?)
        /// There was none, or the server fell silent.
        case failed(String)
    }

    /// Queued bytes above which nothing more is read until the server has taken them.
    private static let queuedBytesHigh = 1 << 20
    /// Far above what the suites send, so that no case fails for policy alone.
    private static let limits = WebSocketLimits(messageLengthMax: 64 << 20)
    /// How long the server may take to end the connection after the closing handshake.
    private static let closeTimeout = Duration.seconds(5)
    /// How long nothing may be heard: the suites let a case wait for some seconds at most.
    private static let silenceMax = Duration.seconds(60)
    private static let (silenceTag, closeTag) = (0, 1)

    private let handshake: ClientHandshake
    private let echoes: Bool
    private let reactor: Reactor
    private let tell: (Ending) -> Void
    private var parser = ResponseParser()
    private var endpoint: WebSocketEndpoint?
    private var stream: Stream?
    private var timer: TimerID?
    private var hasHeard = false
    private var lastMessage: [UInt8]?
    private var fault: String?

    /// Prepares a dialogue.
    ///
    /// - Parameters:
    ///   - handshake: Its beginning.
    ///   - echoes: Whether messages are sent back; if not, the last one is kept.
    ///   - reactor: Where the stream is made.
    ///   - tell: Called once, at the end.
    init(
        _ handshake: ClientHandshake,
        echoes: Bool,
        reactor: Reactor,
        tell: @escaping (Ending) -> Void
    ) {
        self.handshake = handshake
        self.echoes = echoes
        self.reactor = reactor
        self.tell = tell
    }

    /// Connects; whatever comes of it ends in `tell`.
    func begin(at address: SocketAddress, tls: (context: TLSContext, serverName: String)?) {
        do throws(SystemError) {
            let stream = try reactor.connect(
                to: address,
                tls: tls,
                timeout: .seconds(10),
                // One echo of the longest message on top of what is queued before reading pauses.
                limits: StreamLimits(queuedBytesMax: 80 << 20),
                delegate: self
            )
            stream.write(handshake.request)
            self.stream = stream
            timer = reactor.schedule(after: Self.silenceMax, self, tag: Self.silenceTag)
        } catch {
            tell(.failed(error.description))
        }
    }

    // MARK: Stream

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        hasHeard = true
        var position = 0
        if endpoint == nil { open(bytes.span, &position) }
        guard endpoint != nil else { return position }
        listen(stream, &bytes, &position)
        if stream.queuedByteCount > Self.queuedBytesHigh { stream.pauseReading() }
        return position
    }

    func streamDrained(_ stream: Stream) {
        hasHeard = true
        stream.resumeReading()
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        if let timer = timer.take() { reactor.cancel(timer) }
        self.stream = nil
        // Some cases end with the connection cut; how it should end is for the server to judge.
        if let fault {
            tell(.failed(fault))
        } else if endpoint != nil {
            tell(.held(lastMessage: lastMessage))
        } else {
            tell(.failed(error?.description ?? "the server ended the connection unasked"))
        }
    }

    func timerFired(tag: Int) {
        timer = nil
        if tag == Self.closeTag {
            stream?.close(within: Self.closeTimeout)
        } else if hasHeard {
            hasHeard = false
            timer = reactor.schedule(after: Self.silenceMax, self, tag: Self.silenceTag)
        } else {
            fail("the server was silent for \(Self.silenceMax)")
        }
    }

    // MARK: Steps

    private func open(_ bytes: Span<UInt8>, _ position: inout Int) {
        do throws(HTTPError) {
            while true {
                switch try parser.advance(over: bytes, from: &position) {
                case .needsMore, .content: return
                case .interim: continue
                case .head(let head): return judge(head)
                }
            }
        } catch {
            fail("its answer is no HTTP: \(error)")
        }
    }

    private func judge(_ head: ResponseHead) {
        do throws(HandshakeFailure) {
            let agreement = try handshake.verify(status: head.status.code) { head.fields($0) }
            endpoint = WebSocketEndpoint(
                role: .client,
                limits: Self.limits,
                compression: agreement.deflate
            )
        } catch {
            fail(error.description)
        }
    }

    /// Answers what has come, until too much is queued.
    private func listen(
        _ stream: Stream,
        _ bytes: inout MutableSpan<UInt8>,
        _ position: inout Int
    ) {
        do throws(WebSocketError) {
            while stream.queuedByteCount <= Self.queuedBytesHigh,
                let incoming = try endpoint?.next(in: &bytes, at: &position)
            {
                take(incoming, bytes.span)
            }
        } catch {
            write(endpoint?.close(error.closeCode, reason: error.description, mask: Self.mask()))
            awaitEnd()
        }
    }

    private func take(_ incoming: Incoming, _ bytes: Span<UInt8>) {
        switch incoming.kind {
        case .text: message(.text, incoming, bytes)
        case .binary: message(.binary, incoming, bytes)
        case .ping:
            write(incoming.withPayload(in: bytes) { endpoint?.pong($0, mask: Self.mask()) })
        case .pong: break
        case .close:
            write(endpoint?.answerClose(mask: Self.mask()))
            awaitEnd()
        }
    }

    private func message(_ kind: MessageKind, _ incoming: Incoming, _ bytes: Span<UInt8>) {
        guard echoes else { return lastMessage = incoming.payload(in: bytes) }
        write(
            incoming.withPayload(in: bytes) { endpoint?.encode(kind, $0, mask: Self.mask()) }
        )
    }

    private func write(_ frame: [UInt8]?) {
        if let frame { stream?.write(frame) }
    }

    /// RFC 6455 §7.1.1: the server ends the connection first, given a while for it.
    private func awaitEnd() {
        if let timer { reactor.cancel(timer) }
        timer = reactor.schedule(after: Self.closeTimeout, self, tag: Self.closeTag)
    }

    private func fail(_ reason: String) {
        fault = reason
        stream?.abort()
    }

    /// RFC 6455 §5.3: each frame's key is new and not to be guessed.
    private static func mask() -> UInt32 { .random(in: .min ... .max) }
}
