import HTTP1
import Net
import WebSocket

/// One WebSocket connection to the fuzzing server.
final class SuiteConnection: StreamDelegate, TimerTarget {
    /// The outcome of a connection.
    enum Outcome: Sendable {
        /// The handshake succeeded. The value is the last message, unless it was sent back.
        case completed(lastMessage: [UInt8]?)
        /// The handshake failed, or the server sent nothing for too long.
        case failed(String)
    }

    /// The number of queued bytes above which reading pauses until they are sent.
    private static let queuedBytesHigh = 1 << 20
    /// Far above the suites' messages, so that no case fails because of a limit.
    private static let limits = WebSocketLimits(messageLengthMax: 64 << 20)
    /// The time for the server to close the connection after the closing handshake.
    private static let closeTimeout = Duration.seconds(5)
    /// The longest time without received bytes; the suites' cases wait for some seconds at most.
    private static let idleTimeMax = Duration.seconds(60)
    private static let (idleTag, closeTag) = (0, 1)

    private let handshake: ClientHandshake
    private let echoes: Bool
    private let reactor: Reactor
    private let completion: (Outcome) -> Void
    private var parser = ResponseParser()
    private var endpoint: WebSocketEndpoint?
    private var stream: Stream?
    private var timer: TimerID?
    private var isActive = false
    private var lastMessage: [UInt8]?
    private var fault: String?

    /// Prepares a connection.
    ///
    /// - Parameters:
    ///   - handshake: The opening handshake.
    ///   - echoes: Whether messages are sent back; if not, the last one is kept.
    ///   - reactor: The stream's reactor.
    ///   - completion: Called once, with the outcome.
    init(
        _ handshake: ClientHandshake,
        echoes: Bool,
        reactor: Reactor,
        completion: @escaping (Outcome) -> Void
    ) {
        self.handshake = handshake
        self.echoes = echoes
        self.reactor = reactor
        self.completion = completion
    }

    /// Connects; `completion` is called in every case.
    func begin(at address: SocketAddress, tls: (context: TLSContext, serverName: String)?) {
        do throws(SystemError) {
            let stream = try reactor.connect(
                to: address,
                tls: tls,
                timeout: .seconds(10),
                // One echo of the longest message in addition to the bytes queued before reading pauses.
                limits: StreamLimits(queuedBytesMax: 80 << 20),
                delegate: self
            )
            stream.write(handshake.request)
            self.stream = stream
            timer = reactor.schedule(after: Self.idleTimeMax, self, tag: Self.idleTag)
        } catch {
            completion(.failed(error.description))
        }
    }

    // MARK: Stream

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        isActive = true
        var position = 0
        if endpoint == nil { open(bytes.span, &position) }
        guard endpoint != nil else { return position }
        receive(stream, &bytes, &position)
        if stream.queuedByteCount > Self.queuedBytesHigh { stream.pauseReading() }
        return position
    }

    func streamDrained(_ stream: Stream) {
        isActive = true
        stream.resumeReading()
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        if let timer = timer.take() { reactor.cancel(timer) }
        self.stream = nil
        // Some cases end with the connection cut; the server checks how it should end.
        if let fault {
            completion(.failed(fault))
        } else if endpoint != nil {
            completion(.completed(lastMessage: lastMessage))
        } else {
            completion(.failed(error?.description ?? "the server ended the connection unasked"))
        }
    }

    func timerFired(tag: Int) {
        timer = nil
        if tag == Self.closeTag {
            stream?.close(within: Self.closeTimeout)
        } else if isActive {
            isActive = false
            timer = reactor.schedule(after: Self.idleTimeMax, self, tag: Self.idleTag)
        } else {
            fail("the server was silent for \(Self.idleTimeMax)")
        }
    }

    // MARK: Steps

    private func open(_ bytes: Span<UInt8>, _ position: inout Int) {
        do throws(HTTPError) {
            while true {
                switch try parser.advance(over: bytes, from: &position) {
                case .needsMore, .content: return
                case .interim: continue
                case .head(let head): return verify(head)
                }
            }
        } catch {
            fail("its answer is no HTTP: \(error)")
        }
    }

    private func verify(_ head: ResponseHead) {
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

    /// Handles received messages until too many bytes are queued.
    private func receive(
        _ stream: Stream,
        _ bytes: inout MutableSpan<UInt8>,
        _ position: inout Int
    ) {
        do throws(WebSocketError) {
            while stream.queuedByteCount <= Self.queuedBytesHigh,
                let incoming = try endpoint?.next(in: &bytes, at: &position)
            {
                handle(incoming, bytes.span)
            }
        } catch {
            write(endpoint?.close(error.closeCode, reason: error.description, mask: Self.mask()))
            awaitClose()
        }
    }

    private func handle(_ incoming: Incoming, _ bytes: Span<UInt8>) {
        switch incoming.kind {
        case .text: message(.text, incoming, bytes)
        case .binary: message(.binary, incoming, bytes)
        case .ping:
            write(incoming.withPayload(in: bytes) { endpoint?.pong($0, mask: Self.mask()) })
        case .pong: break
        case .close:
            write(endpoint?.answerClose(mask: Self.mask()))
            awaitClose()
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

    /// Waits for the server to close the connection first (RFC 6455 §7.1.1), for `closeTimeout`.
    private func awaitClose() {
        if let timer { reactor.cancel(timer) }
        timer = reactor.schedule(after: Self.closeTimeout, self, tag: Self.closeTag)
    }

    private func fail(_ reason: String) {
        fault = reason
        stream?.abort()
    }

    /// Returns a new, unpredictable key for each frame (RFC 6455 §5.3).
    private static func mask() -> UInt32 { .random(in: .min ... .max) }
}
