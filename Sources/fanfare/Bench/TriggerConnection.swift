import HTTP1
import Net

/// A connection to the HTTP API that triggers events without waiting for answers.
///
/// Unlike ``Publisher`` it does not take a 503 for a failure, and it goes on over a new connection when one is lost.
final class TriggerConnection: StreamDelegate {
    /// The answer to an event.
    enum Answer: Equatable {
        case accepted
        /// 503, and how long Retry-After asks to wait; nil where the field is missing.
        case refused(retryAfter: Duration?)
    }

    /// Called with each event's number and its answer.
    var answered: (UInt32, Answer) -> Void = { _, _ in }
    /// The first thing that makes a run impossible.
    private(set) var failure: BenchError?
    /// How often a connection was lost with requests unanswered, though no answer had announced its end.
    private(set) var lossCount = 0
    /// Whether an established connection is there.
    private(set) var isOpen = false

    private let generator: Generator
    private let template: EventTemplate
    private var stream: Stream?
    private var parser = ResponseParser()
    /// The status of the response whose content comes next, and its Retry-After.
    private var status = 0
    private var retryAfter: Duration?
    /// Whether a response has announced that it is the last of the connection.
    private var isLast = false
    /// Whether no further connection is wanted.
    private var isEnding = false
    /// The events that wait for an answer, those before `firstUnanswered` excepted.
    private var unanswered: [UInt32] = []
    private var firstUnanswered = 0

    /// Requests that are made ahead of what the kernel has taken, in bytes.
    static let queuedBytesMax = 128 << 10

    /// A connection that has yet to be made.
    ///
    /// - Parameters:
    ///   - template: Makes the requests.
    ///   - generator: Makes the connection.
    init(template: EventTemplate, generator: Generator) {
        self.template = template
        self.generator = generator
    }

    /// Whether the connection takes another request now.
    var canSend: Bool {
        guard let stream, isOpen, !isLast, !isEnding else { return false }
        return stream.queuedByteCount < Self.queuedBytesMax
    }

    /// Begins the connection.
    func connect() {
        do throws(BenchError) {
            parser = ResponseParser()
            isLast = false
            stream = try generator.dialer.connect(on: generator.reactor, delegate: self)
        } catch {
            fail(error)
        }
    }

    /// Triggers an event.
    ///
    /// - Parameters:
    ///   - number: Its number.
    ///   - due: The time from which its latency counts.
    func trigger(_ number: UInt32, due: MonotonicTime) {
        do throws(HTTPError) {
            let timestamp = generator.reactor.unixTime
            let request = try template.request(number, due: due, timestamp: timestamp)
            parser.expect(.post)
            unanswered.append(number)
            stream?.write(request)
        } catch {
            fail(.publisherLost(reason: "\(error)"))
        }
    }

    /// Ends the connection at once: what is not answered yet stays so.
    func end() {
        isEnding = true
        stream?.abort()
    }

    // MARK: Stream

    func streamOpened(_ stream: Stream) { isOpen = true }

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
            fail(.publisherLost(reason: "\(error)"))
            return bytes.count
        }
    }

    private func receiveAnswer(_ content: [UInt8]) -> Bool {
        guard firstUnanswered < unanswered.count else {
            fail(.publisherLost(reason: "an answer came to no request"))
            return false
        }
        let number = unanswered[firstUnanswered]
        firstUnanswered += 1
        if firstUnanswered == unanswered.count || firstUnanswered >= 4_096 {
            unanswered.removeFirst(firstUnanswered)
            firstUnanswered = 0
        }
        switch status {
        case 200: answered(number, .accepted)
        case 503: answered(number, .refused(retryAfter: retryAfter))
        default:
            fail(.eventRefused(status: status, answer: Publisher.line(content)))
            return false
        }
        return true
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        self.stream = nil
        let wasOpen = isOpen
        isOpen = false
        if isEnding || error == .shutDown || failure != nil { return }
        let reason = error.map { "\($0)" } ?? "the server closed it"
        guard wasOpen else { return fail(.publisherLost(reason: reason)) }
        if firstUnanswered < unanswered.count && !isLast { lossCount += 1 }
        unanswered = []
        firstUnanswered = 0
        connect()
    }

    private func fail(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
