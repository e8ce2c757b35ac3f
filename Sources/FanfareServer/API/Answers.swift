import HTTP1
import PusherProtocol
import WebSocket

extension Response {
    /// The response to a request that the API refuses: the status and one line of plain text.
    init(refusal: APIError) {
        self = .text("", status: Status(refusal.status))
        body = refusal.body
        if [429, 503].contains(refusal.status) { fields.append(Field("Retry-After", "1")) }
    }

    /// The response to an invalid upgrade request (RFC 6455 §4.2.2).
    init(refusal: HandshakeRefusal) {
        self = .text(refusal.description + "\n", status: Status(refusal.status))
        fields += refusal.fields.filter { $0.name != "Connection" }.map { Field($0.name, $0.value) }
    }
}
