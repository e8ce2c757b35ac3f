import Digests

/// A request of a backend, on its own connection, with its expected answer.
final class Exchange {
    /// The expected answer.
    enum Outcome {
        /// 200; or 503 if links are congested, without any effect.
        case accepted
        case refused(status: Int)
        /// 200; the caller checks the body.
        case any
    }

    let pipe: Pipe
    let text: String
    let shard: Int
    let outcome: Outcome
    /// The events that the request publishes if it is accepted.
    var publications: [Publication] = []
    /// The clients that are closed if the request is accepted.
    var terminated: [ClientModel] = []
    /// Whether links were congested while the request was in progress.
    var mayBeRefused = false
    private(set) var status: Int?
    private(set) var body = ""
    private var received: [UInt8] = []

    init(_ pipe: Pipe, _ text: String, shard: Int, outcome: Outcome) {
        self.pipe = pipe
        self.text = text
        self.shard = shard
        self.outcome = outcome
        pipe.enqueue(Array(text.utf8))
    }

    var isAnswered: Bool { status != nil }

    /// Writes and reads up to `limit` bytes each.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes.
    ///   - isDraining: Whether the broker is draining.
    /// - Returns: The number of bytes transferred.
    /// - Throws: A wrong answer.
    func transfer(_ limit: Int, whileDraining isDraining: Bool) throws(Violation) -> Int {
        let pushed = pipe.push(limit)
        let bytes = pipe.read(limit)
        received += bytes
        if !isAnswered, !bytes.isEmpty { try readAnswer() }
        if !isAnswered, pipe.hasEnded {
            // A draining broker closes connections from which it has read no request.
            guard !isDraining else {
                status = 0
                for publication in publications { publication.status = .refused }
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
            for publication in publications { publication.status = .accepted }
            for client in terminated { client.isTerminated = true }
        case (.accepted, 503):
            guard mayBeRefused || !body.contains("more events than it can relay") else {
                throw Violation(.answers, "\(firstLine) was refused, and no events waited: \(body)")
            }
            for publication in publications { publication.status = .refused }
        case (.refused(status), _):
            for publication in publications { publication.status = .refused }
        case (.any, 200): break
        case (.refused(status: 401), 200):
            throw Violation(.authorisation, "\(firstLine) was accepted with a wrong signature")
        default: throw Violation(.answers, "\(firstLine) was answered with \(status): \(body)")
        }
    }
}

/// Returns a signed request.
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
        ("auth_key", Scenario.keys[app]), ("auth_timestamp", "\(unixTime)"),
        ("auth_version", "1.0"),
    ]
    if !body.isEmpty {
        let bytes = Array(body.utf8)
        query.append(("body_md5", Hex.encode(Digest.md5(bytes.span))))
    }
    query += parameters
    let signed = query.sorted { $0.0 < $1.0 }.map { "\($0)=\($1)" }.joined(separator: "&")
    let signature = sign("\(method)\n\(path)\n\(signed)", with: secret ?? Scenario.secrets[app])
    return "\(method) \(path)?\(signed)&auth_signature=\(signature) HTTP/1.1\r\n"
        + "Host: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
}
