import Digests
import Glibc

/// A request to the HTTP API, signed by hand, independently of the broker's own code.
struct SignedRequest: Sendable {
    var method = "POST"
    var path: String
    var body = ""
    var parameters: [(String, String)] = []
    var key = "app-key"
    var secret = "app-secret"
    var timestamp = Int(time(nil))
    /// Whether the values of `parameters` are percent-encoded; as always, what is signed is not.
    var escapesValues = false

    /// The bytes of the request.
    var text: String { head(["Content-Length: \(body.utf8.count)"]) + body }

    /// The head of the request, with fields that may announce its body differently.
    func head(_ fields: [String]) -> String {
        var query = [
            ("auth_key", key), ("auth_timestamp", "\(timestamp)"), ("auth_version", "1.0"),
        ]
        if !body.isEmpty {
            let bytes = Array(body.utf8)
            query.append(("body_md5", Hex.encode(Digest.md5(bytes.span))))
        }
        query += parameters
        query.sort { $0.0 < $1.0 }
        let signed = query.map { "\($0)=\($1)" }.joined(separator: "&")
        let sent =
            escapesValues
            ? query.map { "\($0)=\(Self.escaped($1))" }.joined(separator: "&") : signed
        let message = Array("\(method)\n\(path)\n\(signed)".utf8)
        let secretBytes = Array(secret.utf8)
        let signature = Hex.encode(HMACSHA256(key: secretBytes.span).code(for: message.span))
        return "\(method) \(path)?\(sent)&auth_signature=\(signature) HTTP/1.1\r\n"
            + "Host: localhost\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// A text with each byte percent-encoded.
    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { [0x25, digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The answer of a server.
struct Answer: Equatable {
    var status: Int
    var head: String
    var body: String
}

extension Wire {
    /// Sends a request and waits for its answer.
    func ask(_ request: SignedRequest) async throws -> Answer {
        try send(request.text)
        return try await answer()
    }

    /// Waits for one answer with a Content-Length.
    func answer() async throws -> Answer {
        let head = try await read(through: "\r\n\r\n")
        let status = Int(head.dropFirst(9).prefix(3)) ?? 0
        let length =
            head.lowercased().firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
        let body = String(decoding: try await read(length), as: UTF8.self)
        return Answer(status: status, head: head, body: body)
    }

    /// Triggers one event, which one connection may be excluded from.
    static func trigger(
        port: UInt16,
        name: String,
        data: String,
        channel: String,
        except: String? = nil
    ) async throws -> Answer {
        let socket = except.map { #","socket_id":"\#($0)""# } ?? ""
        let body = #"{"name":"\#(name)","channels":["\#(channel)"],"data":"\#(data)"\#(socket)}"#
        return try await Wire(port: port).ask(SignedRequest(path: "/apps/1/events", body: body))
    }
}
