import HTTP1
import FanfareServer
import Net
import PusherProtocol

/// Triggers events over one keep-alive connection to the HTTP API.
final class Publisher: StreamOwner {
    /// The first thing that went wrong.
    private(set) var failure: BenchError?
    /// Whether the server has been reached, now or before.
    private(set) var hasConnected = false

    private let reactor: Reactor
    private let plan: FanoutPlan
    private let dialer: Dialer
    private var stream: Stream?
    private var parser = ResponseParser()
    /// The status of the response whose content comes next.
    private var status = 0
    /// Whether a response has said that it is the last of the connection.
    private var isLast = false
    /// The data of the events whose requests wait for their answer.
    private var unanswered: [[UInt8]] = []

    /// A publisher without a connection.
    ///
    /// - Parameters:
    ///   - plan: Says what to sign with, and the channel.
    ///   - dialer: Makes the connection.
    ///   - reactor: Whose thread all calls come on.
    init(plan: FanoutPlan, dialer: Dialer, reactor: Reactor) {
        self.plan = plan
        self.dialer = dialer
        self.reactor = reactor
    }

    /// How many requests wait for their answer.
    var unansweredCount: Int { unanswered.count }

    /// Whether another event can be sent now.
    var canPublish: Bool {
        stream?.isOpen == true && !isLast && unansweredCount < FanoutPlan.unansweredMax
    }

    /// Whether the connection stays on this machine.
    var isLocal: Bool {
        guard let remote = stream?.remoteAddress() else { return false }
        return remote.isLoopback || remote.ip == stream?.localAddress()?.ip
    }

    /// Begins the connection.
    func connect() {
        do throws(BenchError) {
            parser = ResponseParser()
            isLast = false
            stream = try dialer.connect(on: reactor, owner: self)
        } catch {
            fail(error)
        }
    }

    /// Triggers an event; its request leaves at the end of the turn.
    ///
    /// - Parameter data: Bytes that mean themselves in a JSON string.
    func publish(_ data: [UInt8]) {
        unanswered.append(data)
        send(data)
    }

    private func send(_ data: [UInt8]) {
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string("bench")
        json.name("channel")
        json.string(plan.channel.text)
        json.name("data")
        json.string(data.span)
        json.endObject()
        let body = json.bytes
        let path = "/apps/\(plan.appID)/events"
        let query = RequestSignature.sign(
            method: "POST",
            path: path,
            body: body.span,
            key: plan.key,
            secret: plan.secret,
            timestamp: reactor.unixTime
        )
        let request = Request(
            .post,
            "\(plan.target.pathPrefix)\(path)?\(query)",
            host: plan.target.hostField,
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
        hasConnected = true
        for data in unanswered { send(data) }
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
        if !hasConnected {
            guard dialer.tryNextAddress() else {
                let hint =
                    if case .tls = error {
                        "--insecure accepts any certificate."
                    } else {
                        "Is the server running there?"
                    }
                return fail(.unreachable(url: plan.target.url, reason: "\(reason). \(hint)"))
            }
            connect()
        } else if unanswered.isEmpty || isLast {
            // A server may end a connection that is idle, or that has carried enough; it has done
            // nothing about requests behind an answer that says so (RFC 9112 §9.6).
            connect()
        } else {
            fail(.publisherLost(reason: "\(reason), \(unanswered.count) requests unanswered"))
        }
    }

    /// The beginning of an answer's content, fit for a terminal.
    private static func line(_ content: [UInt8]) -> String {
        let text = String(decoding: content.prefix(1_000), as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).joined(separator: " ").printable
    }

    private func fail(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
