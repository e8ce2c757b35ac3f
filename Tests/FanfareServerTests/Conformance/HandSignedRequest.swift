import Digests
import Glibc

/// A request to the HTTP API with separate texts for the request line and the signature, in which libraries differ.
struct HandSignedRequest: Sendable {
    var method = "GET"
    /// The path in the request line.
    var path: String
    /// The path in the signed text; `nil` when it is the same.
    var signedPath: String?
    /// The parameters besides those of the signature, in the request line.
    var query: [String] = []
    /// The same in the signed text; `nil` when they are the same.
    var signedQuery: [String]?
    /// Additional fields of the head, each with its line end.
    var fields = ""
    var body = ""
    /// The parameters of the signature; one that is `nil` is omitted.
    var key: String? = "app-key"
    var timestamp: String? = "\(time(nil))"
    var version: String? = "1.0"
    /// The digest to send, empty for none; `nil` for that of the body, if there is one.
    var bodyMD5: String?

    private var authentication: [String] {
        var pairs: [String] = []
        if let key { pairs.append("auth_key=\(key)") }
        if let timestamp { pairs.append("auth_timestamp=\(timestamp)") }
        if let version { pairs.append("auth_version=\(version)") }
        let bytes = Array(body.utf8)
        if let digest = bodyMD5 ?? (body.isEmpty ? nil : Hex.encode(Digest.md5(bytes.span))),
            !digest.isEmpty
        {
            pairs.append("body_md5=\(digest)")
        }
        return pairs
    }

    private var signature: String {
        let pairs = (authentication + (signedQuery ?? query)).enumerated()
            .map { (name: $1.prefix { $0 != "=" }.lowercased(), place: $0, pair: $1) }
            .sorted { ($0.name, $0.place) < ($1.name, $1.place) }
            .map { "\($0.name)\($0.pair.dropFirst($0.name.count))" }
        let text = "\(method)\n\(signedPath ?? path)\n\(pairs.joined(separator: "&"))"
        let secret = Array("app-secret".utf8)
        let message = Array(text.utf8)
        return Hex.encode(HMACSHA256(key: secret.span).code(for: message.span))
    }

    /// The bytes of the request.
    var text: String {
        let query = (authentication + query + ["auth_signature=\(signature)"])
        return "\(method) \(path)?\(query.joined(separator: "&")) HTTP/1.1\r\n"
            + "Host: localhost\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

extension TestBroker {
    /// Sends a request over a connection of its own.
    func ask(_ request: HandSignedRequest) async throws -> Answer {
        let wire = try Wire(port: port)
        try wire.send(request.text)
        return try await wire.answer()
    }

    /// Sends a request over a connection of its own.
    func ask(_ request: SignedRequest) async throws -> Answer {
        try await Wire(port: port).ask(request)
    }

    /// Queries the channels, with these parameters.
    func query(_ path: String, _ parameters: [(String, String)] = []) async throws -> Answer {
        try await ask(SignedRequest(method: "GET", path: path, parameters: parameters))
    }

    /// Triggers the event that a body describes.
    func post(_ body: String, to path: String = "/apps/1/events") async throws -> Answer {
        try await ask(SignedRequest(path: path, body: body))
    }
}
