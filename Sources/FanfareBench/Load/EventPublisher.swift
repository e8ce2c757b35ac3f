import HTTP1
import HTTPClient
import Net
import Primitives
import PusherProtocol

struct TriggeredEvent {
    var number: UInt32
    var channel = 0
    /// When the event is due; its latency counts from then.
    var due: MonotonicTime
}

/// Triggers events over one keep-alive connection to the HTTP API, without waiting for each answer.
final class EventPublisher: StreamDelegate {
    /// How an answer with 503, or a connection that is lost with requests unanswered, is handled.
    enum FailurePolicy: Equatable {
        /// Ends the run. At most 64 requests are unanswered at a time.
        case endRun
        /// Is counted, and the next connection is opened: the server is overloaded on purpose. Requests are sent for as
        /// long as the socket takes them, or until an answer with Retry-After where the publisher obeys it.
        case count(obeysRetryAfter: Bool = false)
    }

    /// Called with each event's number, and whether it was answered 200 rather than 503.
    var onAnswer: (UInt32, _ isAccepted: Bool) -> Void = { _, _ in }
    /// The number of connections that were lost with requests unanswered and without `Connection: close`.
    private(set) var lostConnectionCount = 0
    /// Answers 503 without Retry-After.
    private(set) var withoutRetryAfterCount = 0
    /// How often the publisher waited for Retry-After.
    private(set) var pauseCount = 0

    private let channels: [ChannelName]
    private let run: UInt32
    private let path: String
    /// The data behind an event's marker, and the end of the JSON object.
    private let bodyEnd: ArraySlice<UInt8>
    private let policy: FailurePolicy
    private let generator: LoadGenerator
    private var pausedUntil: MonotonicTime?
    private var isOpen = false
    private var stream: Stream?
    private var parser = ResponseParser()
    /// The status of the response whose content comes next, and its Retry-After.
    private var status = 0
    private var retryAfter: Duration?
    /// Whether a response had `Connection: close`.
    private var isLast = false
    /// The unanswered events, from `firstUnanswered` on.
    private var unanswered: [TriggeredEvent] = []
    private var firstUnanswered = 0

    private static let unansweredMax = 64
    /// Limits the requests that the kernel has not taken, in bytes.
    private static let queuedBytesMax = 128 << 10

    /// Creates a publisher of a run's events, with data of at least ``EventMarker/length`` bytes.
    init(
        to channels: [ChannelName],
        run: UInt32,
        dataLength: Int,
        policy: FailurePolicy,
        _ generator: LoadGenerator
    ) {
        self.channels = channels
        self.run = run
        self.policy = policy
        self.generator = generator
        path = "/apps/\(generator.target.appID)/events"
        // Events differ only in their channel and marker; the filler behind the marker is made once.
        let data = EventMarker(run: run, sequence: 0, sentAt: 0).data(length: dataLength)
        bodyEnd = (data + Array(#""}"#.utf8))[EventMarker.length...]
    }

    var unansweredCount: Int { unanswered.count - firstUnanswered }

    var canSend: Bool {
        guard let stream, isOpen, stream.isOpen, !isLast else { return false }
        if let pausedUntil, pausedUntil > .current { return false }
        return switch policy {
        case .endRun: unansweredCount < Self.unansweredMax
        case .count: stream.queuedByteCount < Self.queuedBytesMax
        }
    }

    func connect() {
        do throws(BenchError) {
            parser = ResponseParser()
            isLast = false
            let address = generator.target.backend ?? generator.address
            stream = try generator.open(to: address, self)
        } catch {
            generator.fail(error)
        }
    }

    /// Triggers an event; its request is sent at the end of the turn.
    func trigger(_ event: TriggeredEvent) {
        pausedUntil = nil
        unanswered.append(event)
        send(event)
    }

    private func send(_ event: TriggeredEvent) {
        do throws(HTTPError) {
            stream?.write(try request(event))
            parser.expect(.post)
        } catch {
            fail("\(error)")
        }
    }

    private func request(_ event: TriggeredEvent) throws(HTTPError) -> [UInt8] {
        let (target, body) = (generator.target, body(of: event))
        let query = RequestSignature.sign(
            method: "POST",
            path: path,
            body: body.span,
            key: target.key,
            secret: target.secret,
            timestamp: generator.reactor.unixTime
        )
        let request = Request(
            .post,
            "\(target.url.pathPrefix)\(path)?\(query)",
            host: target.url.hostField,
            fields: [Field("Content-Type", "application/json")],
            body: body
        )
        return try request.encode()
    }

    private func body(of event: TriggeredEvent) -> [UInt8] {
        // Neither a channel's name nor the data has a character that JSON escapes.
        var body = Array(#"{"name":"bench","channel":""#.utf8)
        let channel = channels[event.channel].text
        body.reserveCapacity(128 + channel.utf8.count + bodyEnd.count)
        body.append(contentsOf: channel.utf8)
        body.append(contentsOf: #"","data":""#.utf8)
        EventMarker(run: run, sequence: event.number, sentAt: event.due.nanoseconds)
            .append(to: &body)
        body.append(contentsOf: bodyEnd)
        return body
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
        case (200, _): onAnswer(number, true)
        case (503, .count(let obeysRetryAfter)):
            onAnswer(number, false)
            if retryAfter == nil { withoutRetryAfterCount += 1 }
            guard obeysRetryAfter, let retryAfter else { break }
            if pausedUntil == nil { pauseCount += 1 }
            pausedUntil = MonotonicTime.current.advanced(by: retryAfter)
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
        if error == .shutDown || generator.hasFailed { return }
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
