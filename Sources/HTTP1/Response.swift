/// A response: status, fields and content.
///
/// The writer adds Date, Content-Length and Connection, because they follow from the content and the request; it
/// ignores them in `fields`.
public struct Response: Sendable, Equatable {
    /// The status code.
    public var status: Status

    /// The fields, in the order in which they are written.
    public var fields: [Field]

    /// The content; not sent for a HEAD request, nor with a status without content.
    public var body: [UInt8]

    /// Whether the connection is closed after this response, even if the client wants to keep it.
    public var closesConnection = false

    /// Makes a response with fields except those that the writer adds.
    public init(status: Status, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Returns a JSON response with its Content-Type.
    public static func json(_ body: [UInt8], status: Status = 200) -> Response {
        Response(status: status, fields: jsonFields, body: body)
    }

    /// Shared by all JSON responses.
    private static let jsonFields = [Field("Content-Type", "application/json")]

    /// Returns a plain text response with its Content-Type.
    public static func text(_ text: String, status: Status = 200) -> Response {
        Response(
            status: status,
            fields: [Field("Content-Type", "text/plain; charset=utf-8")],
            body: Array(text.utf8)
        )
    }

    /// Returns an HTML response with its Content-Type.
    public static func html(_ body: [UInt8], status: Status = 200) -> Response {
        Response(
            status: status,
            fields: [Field("Content-Type", "text/html; charset=utf-8")],
            body: body
        )
    }

    /// Makes the response to a refused request: the error's status, and a sentence that describes it.
    ///
    /// It closes the connection, except for 405 and 501, which concern the method of a well-formed request.
    public init(refusing error: HTTPError) {
        self = .text(error.description, status: error.status)
        switch error {
        case .methodNotAllowed(_, let allowed):
            // RFC 9110 §15.5.6 requires Allow.
            let methods = allowed.map(\.description).joined(separator: ", ")
            fields.append(Field("Allow", methods))
        case .methodUnsupported: break
        default: closesConnection = true
        }
    }

    /// Returns the response to OPTIONS (RFC 9110 §9.3.7): 204 with the resource's methods in Allow.
    public static func options(allowed: [Method]) -> Response {
        let methods = allowed.map(\.description).joined(separator: ", ")
        return Response(status: 204, fields: [Field("Allow", methods)])
    }

    /// Returns the first value of a field with this case-insensitive name; nil if there is none.
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// The complete 100 (Continue) response to `Expect: 100-continue`.
    public static let `continue` = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
}

/// The properties of a request that determine the framing of its response.
public struct AnswerFraming: Sendable, Hashable {
    /// Whether the request was HEAD: the response has the fields of the content, but not the content.
    public var isHEAD: Bool

    /// Whether the connection stays open after the response.
    public var keepAlive: Bool

    /// The minor version of the request.
    public var minorVersion: Int

    /// Makes a framing; the defaults are for a request that could not be parsed.
    public init(isHEAD: Bool = false, keepAlive: Bool = false, minorVersion: Int = 1) {
        self.isHEAD = isHEAD
        self.keepAlive = keepAlive
        self.minorVersion = minorVersion
    }
}

extension RequestHead {
    /// The framing of a response to this request.
    public var answerFraming: AnswerFraming {
        AnswerFraming(isHEAD: method == .head, keepAlive: keepAlive, minorVersion: minorVersion)
    }
}
