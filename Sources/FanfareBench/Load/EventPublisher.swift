import HTTP1
import Net
import Primitives
import PusherProtocol

/// Triggers events over one keep-alive connection to the HTTP API, without waiting for each answer.
final class EventPublisher: StreamDelegate {
    /// How an answer with 503, or a connection that is lost with requests unanswered, is handled.
    enum FailurePolicy {
        /// Ends the run. At most 64 requests are unanswered at a time.
        case endRun
        /// Is counted, and the next connection is opened: the server is overloaded on purpose. Requests are sent for as
        /// long as the socket takes them.
        case count
    }

    /// The answer to an event.
    enum Answer: Equatable {
        case accepted
        /// 503, and the time in Retry-After; nil where the field is missing.
        case refused(retryAfter: Duration?)
    }

    /// Called with each event's number and its answer.
    var onAnswer: (UInt32, Answer) -> Void = { _, _ in }
    /// The number of connections that were lost with requests unanswered and without `Connection: close`.
    private(set) var lostConnectionCount = 0
    /// Whether the connection is established.
    private(set) var isOpen = false

    private let requests: TriggerRequestBuilder
    private let policy: FailurePolicy
    private let generator: LoadGenerator
    private var stream: Stream?
    private var parser = ResponseParser()
    private var hasStarted = false
    /// The status of the response whose content comes next, and its Retry-After.
    private var status = 0
    private var retryAfter: Duration?
    /// Whether a response had `Connection: close`.
    private var isLast = false
    /// Whether no further connection is opened.
    private var isEnding = false
    /// The unanswered events, from `firstUnanswered` on.
    private var unanswered: [TriggeredEvent] = []
    private var firstUnanswered = 0

    private static let unansweredMax = 64
    /// Limits the requests that the kernel has not taken, in bytes.
    private static let queuedBytesMax = 128 << 10

    /// A publisher without a connection.
    init(_ requests: TriggerRequestBuilder, policy: FailurePolicy, generator: LoadGenerator) {
        self.requests = requests
        self.policy = policy
        self.generator = generator
    }

    /// The number of requests that are not answered.
    var unansweredCount: Int { unanswered.count - firstUnanswered }

    /// Whether another event can be sent now.
    var canSend: Bool {
        guard let stream, isOpen, stream.isOpen, !isLast, !isEnding else { return false }
        return switch policy {
        case .endRun: unansweredCount < Self.unansweredMax
        case .count: stream.queuedByteCount < Self.queuedBytesMax
        }
    }

    /// Opens the connection, in the first call; returns whether events can be sent.
    ///
    /// - Throws: When the connection is not open within the stall timeout.
    func open(at now: MonotonicTime) throws(BenchError) -> Bool {
        if !hasStarted { connect() }
        if !canSend, generator.isStalled(0, at: now) {
            throw .publisherLost(reason: "no connection in time")
        }
        return canSend
    }

    private func connect() {
        hasStarted = true
        do throws(BenchError) {
            parser = ResponseParser()
            isLast = false
            stream = try generator.connector
                .connectAsBackend(on: generator.reactor, delegate: self)
        } catch {
            generator.fail(error)
        }
    }

    /// Triggers an event; its request is sent at the end of the turn.
    func trigger(_ event: TriggeredEvent) {
        unanswered.append(event)
        send(event)
    }

    private func send(_ event: TriggeredEvent) {
        do throws(HTTPError) {
            let timestamp = generator.reactor.unixTime
            stream?.write(try requests.request(event, timestamp: timestamp))
            parser.expect(.post)
        } catch {
            fail("\(error)")
        }
    }

    /// Aborts the connection; unanswered events stay unanswered.
    func end() {
        isEnding = true
        stream?.abort()
    }

    // MARK: StreamDelegate

    func streamOpened(_ stream: Stream) {
        isOpen = true
        for event in unanswered[firstUnanswered...] { send(event) }
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var position = 0
        do throws(HTTPError) {
            while true {
                switch try parser.advance(over: bytes.span, from: &position) {
                case .needsMore: return position
                case .interim: break
                case .head(let head):
                    status = head.status.code
                    isLast = !head.keepAlive
                    let seconds = status == 503 ? head.field("Retry-After") : nil
                    retryAfter = seconds.flatMap { Int($0) }.map { .seconds($0) }
                case .content(let content):
                    let text = content.copy(from: bytes.span)
                    guard receiveAnswer(text) else { return bytes.count }
                }
            }
        } catch {
            fail("\(error)")
            return bytes.count
        }
    }

    private func receiveAnswer(_ content: [UInt8]) -> Bool {
        guard firstUnanswered < unanswered.count else {
            fail("an answer without a request")
            return false
        }
        let number = unanswered[firstUnanswered].number
        firstUnanswered += 1
        if firstUnanswered == unanswered.count || firstUnanswered >= 4_096 {
            unanswered.removeFirst(firstUnanswered)
            firstUnanswered = 0
        }
        switch (status, policy) {
        case (200, _): onAnswer(number, .accepted)
        case (503, .count): onAnswer(number, .refused(retryAfter: retryAfter))
        default:
            generator.fail(.eventRefused(status: status, answer: Self.line(content)))
            return false
        }
        return true
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        self.stream = nil
        let wasOpen = isOpen
        isOpen = false
        if isEnding || error == .shutDown || generator.failure != nil { return }
        let reason = error.map { "\($0)" } ?? "the server closed it"
        guard wasOpen else { return fail(reason) }
        let isLost = unansweredCount > 0 && !isLast
        switch policy {
        case .endRun:
            if isLost { return fail("\(reason), \(unansweredCount) requests unanswered") }
        case .count:
            if isLost { lostConnectionCount += 1 }
            unanswered = []
            firstUnanswered = 0
        }
        // A server may close a connection that is idle, or that has carried enough requests. It has not processed those
        // behind an answer with `Connection: close` (RFC 9112 §9.6): they are sent again.
        connect()
    }

    /// The start of an answer's content as one printable line.
    private static func line(_ content: [UInt8]) -> String {
        let text = String(decoding: content.prefix(1_000), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).joined(separator: " ").printable
    }

    private func fail(_ reason: String) { generator.fail(.publisherLost(reason: reason)) }
}
