import HTTP1
import PusherProtocol

/// The body of a request to an authorisation endpoint.
struct AuthorizationRequestBody {
    let contentType: String
    let bytes: [UInt8]

    init(_ endpoint: AuthorizationEndpoint, _ request: AuthorizationRequest) {
        let parameters = endpoint.parameters.sorted { $0.key < $1.key }
        let hasManyChannels = endpoint.channelsPerRequestMax > 1
        switch endpoint.encoding {
        case .form:
            contentType = "application/x-www-form-urlencoded"
            let name = hasManyChannels ? "channel_name[]" : "channel_name"
            var pairs = [Field("socket_id", request.socketID)]
            pairs += request.channels.map { Field(name, $0) }
            pairs += parameters.map { Field($0.key, $0.value) }
            bytes = FormURLEncoded(pairs).encode()
        case .json:
            contentType = "application/json"
            var json = JSONWriter()
            json.beginObject()
            json.name("socket_id")
            json.string(request.socketID)
            if hasManyChannels, !request.channels.isEmpty {
                json.name("channel_name")
                json.beginArray()
                for channel in request.channels { json.string(channel) }
                json.endArray()
            } else if let channel = request.channels.first {
                json.name("channel_name")
                json.string(channel)
            }
            for (name, value) in parameters {
                json.name(name)
                json.string(value)
            }
            json.endObject()
            bytes = json.bytes
        }
    }
}
