import Digests

/// One request of a backend, on a connection of its own, and what has to come of it.
final class Exchange {
    /// What an answer has to be.
    enum Outcome {
        /// 200; or 503 while lines are behind, and then nothing has happened.
        case accepted
        case refused(status: Int)
        /// 200, and its body is somebody else's to judge.
        case any
    }

    let pipe: Pipe
    let text: String
    let shard: Int
    let outcome: Outcome
    /// What is published if the request is accepted.
    var publications: [Publication] = []
    /// Who is closed if the request is accepted.
    var terminated: [Conversation] = []
    /// Whether the broker had more events to relay than it may, while the request was under way.
    var mayBeRefused = false
    private(set) var status: Int?
    private(set) var body = ""
    private var received: [UInt8] = []

    init(_ pipe: Pipe, _ text: String, shard: Int, outcome: Outcome) {
        self.pipe = pipe
        self.text = text
        self.shard = shard
        self.outcome = outcome
        pipe.say(Array(text.utf8))
    }

    var isAnswered: Bool { status != nil }

    /// Pushes and reads up to `limit` bytes.
    ///
    /// - Parameters:
    ///   - limit: How many bytes each way.
    ///   - isDraining: Whether the broker is being stopped.
    /// - Returns: How many bytes have moved.
    /// - Throws: What is wrong with the answer.
    func pursue(_ limit: Int, whileDraining isDraining: Bool) throws(Violation) -> Int {
        let pushed = pipe.push(limit)
        let bytes = pipe.read(limit)
        received += bytes
        if !isAnswered, !bytes.isEmpty { try readAnswer() }
        if !isAnswered, pipe.hasEnded {
            // A broker that stops closes connections on which nothing was asked, as far as it has read.
            guard !isDraining else {
                status = 0
                for publication in publications { publication.fate = .refused }
                return pushed + bytes.count
            }
            throw Violation(.answers, "the connection of \(firstLine) ended without an answer")
        }
        return pushed + bytes.count
    }

    private var firstLine: Substring { text.prefix { $0 != "&" && $0 != "\r\n" } }

    private func readAnswer() throws(Violation) {
        let text = String(decoding: received, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let field = text.firstRange(of: "Content-Length: ")
        else { return }
        let length = Int(text[field.upperBound...].prefix { $0.isNumber }) ?? 0
        let content = text[end.upperBound...]
        guard content.utf8.count >= length else { return }
        body = String(content)
        let status = Int(text.dropFirst(9).prefix(3)) ?? 0
        self.status = status
        pipe.close()
        try judge(status)
    }

    private func judge(_ status: Int) throws(Violation) {
        switch (outcome, status) {
        case (.accepted, 200):
            for publication in publications { publication.fate = .accepted }
            for conversation in terminated { conversation.isTerminated = true }
        case (.accepted, 503):
            guard mayBeRefused || !body.contains("more events than it can relay") else {
                throw Violation(.answers, "\(firstLine) was refused, and no events waited: \(body)")
            }
            for publication in publications { publication.fate = .refused }
        case (.refused(status), _):
            for publication in publications { publication.fate = .refused }
        case (.any, 200): break
        case (.refused(status: 401), 200):
            throw Violation(.authorisation, "\(firstLine) was accepted with a wrong signature")
        default: throw Violation(.answers, "\(firstLine) was answered with \(status): \(body)")
        }
    }
}

/// A request with its signature.
func signedRequest(
    _ method: String,
    _ path: String,
    body: String = "",
    parameters: [(String, String)] = [],
    app: Int,
    unixTime: Int64,
    secret: String? = nil
) -> String {
    var query = [
        ("auth_key", Cast.keys[app]), ("auth_timestamp", "\(unixTime)"), ("auth_version", "1.0"),
    ]
    if !body.isEmpty {
        let bytes = Array(body.utf8)
        query.append(("body_md5", Hex.encode(Digest.md5(bytes.span))))
    }
    query += parameters
    let signed = query.sorted { $0.0 < $1.0 }.map { "\($0)=\($1)" }.joined(separator: "&")
    let signature = sign("\(method)\n\(path)\n\(signed)", with: secret ?? Cast.secrets[app])
    return "\(method) \(path)?\(signed)&auth_signature=\(signature) HTTP/1.1\r\n"
        + "Host: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
}
