import HTTP1
import PusherProtocol
import WebSocket

extension Response {
    /// `{}`: what success without anything to say looks like to every official library.
    static let emptyObject = Response.json(Array("{}".utf8))

    /// A JSON text that a writer has made.
    static func json(_ writer: JSONWriter) -> Response { .json(writer.bytes) }

    /// The answer to a request that the API refuses: its status and one line of plain text.
    init(refusal: APIError) {
        self = .text(refusal.message + "\n", status: Status(refusal.status))
        if refusal.status == 503 { fields.append(Field("Retry-After", "1")) }
    }

    /// The answer to an upgrade that is none (RFC 6455 §4.2.2).
    init(refusal: HandshakeRefusal) {
        self = .text(refusal.description + "\n", status: Status(refusal.status))
        fields += refusal.fields.filter { $0.name != "Connection" }.map { Field($0.name, $0.value) }
    }
}
