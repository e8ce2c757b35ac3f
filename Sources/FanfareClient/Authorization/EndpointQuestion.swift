import PusherProtocol

/// A request to an endpoint, as it is written.
struct EndpointQuestion {
    let contentType: String
    let body: [UInt8]

    init(_ endpoint: AuthorizationEndpoint, _ request: AuthorizationRequest) {
        let parameters = endpoint.parameters.sorted { $0.key < $1.key }
        let isAboutMany = endpoint.channelsPerRequestMax > 1
        switch endpoint.encoding {
        case .form:
            contentType = "application/x-www-form-urlencoded"
            let name = isAboutMany ? "channel_name[]" : "channel_name"
            var fields = [("socket_id", request.socketID)]
            fields += request.channels.map { (name, $0) }
            fields += parameters.map { ($0.key, $0.value) }
            let pairs = fields.map { "\(Self.escape($0.0))=\(Self.escape($0.1))" }
            body = Array(pairs.joined(separator: "&").utf8)
        case .json:
            contentType = "application/json"
            var json = JSONWriter()
            json.beginObject()
            json.name("socket_id")
            json.string(request.socketID)
            if isAboutMany, !request.channels.isEmpty {
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
            body = json.bytes
        }
    }

    /// Text as a name or a value of a form, whose unreserved characters stand for themselves (RFC 3986 §2.3).
    private static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where "-._~".utf8.contains(byte):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return escaped
    }
}
