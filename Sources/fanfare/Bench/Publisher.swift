import FanfareServer
import HTTP1
import Net
import PusherProtocol

/// Triggers events over one keep-alive connection to the HTTP API.
final class Publisher: StreamDelegate {
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    private let generator: Generator
    private let subject: BenchSubject
    private var stream: Stream?
    /// Whether the connection has been made.
    private var isOpened = false
    private var parser = ResponseParser()
    /// The status of the response whose content comes next.
    private var status = 0
    /// Whether a response has said that it is the last of the connection.
    private var isLast = false
    /// The events whose requests wait for their answer.
    private var unanswered: [(data: [UInt8], channel: ChannelName)] = []

    /// How many requests may wait for their answer.
    private static let unansweredMax = 64

    /// A publisher without a connection.
    ///
    /// - Parameter generator: Makes the connection.
    init(generator: Generator) {
        self.generator = generator
        subject = generator.subject
    }

    /// How many requests wait for their answer.
    var unansweredCount: Int { unanswered.count }

    /// Whether another event can be sent now.
    var canPublish: Bool {
        stream?.isOpen == true && !isLast && unansweredCount < Self.unansweredMax
    }

    /// Begins the connection.
    func connect() {
        do throws(BenchError) {
            parser = ResponseParser()
            isLast = false
            isOpened = false
            stream = try generator.dialer.connect(on: generator.reactor, delegate: self)
        } catch {
            fail(error)
        }
    }

    /// Triggers an event; its request leaves at the end of the turn.
    ///
    /// - Parameters:
    ///   - data: Bytes that mean themselves in a JSON string.
    ///   - channel: Where to.
    func publish(_ data: [UInt8], to channel: ChannelName) {
        unanswered.append((data, channel))
        send(data, to: channel)
    }

    private func send(_ data: [UInt8], to channel: ChannelName) {
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string("bench")
        json.name("channel")
        json.string(channel.text)
        json.name("data")
        json.string(data.span)
        json.endObject()
        let body = json.bytes
        let path = "/apps/\(subject.appID)/events"
        let query = RequestSignature.sign(
            method: "POST",
            path: path,
            body: body.span,
            key: subject.key,
            secret: subject.secret,
            timestamp: generator.reactor.unixTime
        )
        let request = Request(
            .post,
            "\(subject.target.pathPrefix)\(path)?\(query)",
            host: subject.target.hostField,
            fields: [Field("Content-Type", "application/json")],
            body: body
        )
        do throws(HTTPError) {
            stream?.write(try request.encode())
            parser.expect(.post)
        } catch {
            fail(.publisherLost(reason: "\(error)"))
        }
    }

    // MARK: Stream

    func streamOpened(_ stream: Stream) {
        isOpened = true
        for event in unanswered { send(event.data, to: event.channel) }
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
                case .content(let content):
                    if unanswered.isEmpty {
                        fail(.publisherLost(reason: "an answer came to no request"))
                        return bytes.count
                    }
                    unanswered.removeFirst()
                    guard status != 200 else { continue }
                    let answer = content.copy(from: bytes.span)
                    fail(.eventRefused(status: status, answer: Self.line(answer)))
                }
            }
        } catch {
            fail(.publisherLost(reason: "\(error)"))
            return bytes.count
        }
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        self.stream = nil
        let reason = error.map { "\($0)" } ?? "the server closed it"
        if error == .shutDown || failure != nil { return }
        if !isOpened {
            fail(.publisherLost(reason: reason))
        } else if unanswered.isEmpty || isLast {
            // A server may end a connection that is idle, or that has carried enough; it has done
            // nothing about requests behind an answer that says so (RFC 9112 §9.6).
            connect()
        } else {
            fail(.publisherLost(reason: "\(reason), \(unanswered.count) requests unanswered"))
        }
    }

    /// The beginning of an answer's content, fit for a terminal.
    static func line(_ content: [UInt8]) -> String {
        let text = String(decoding: content.prefix(1_000), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).joined(separator: " ").printable
    }

    private func fail(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
