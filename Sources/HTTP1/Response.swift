/// An answer: status, fields and content.
///
/// The writer adds Date, Content-Length and Connection itself, since they follow from the content
/// and the request; such fields in `fields` are left out.
public struct Response: Sendable, Equatable {
    /// The status code.
    public var status: Status

    /// Fields in the order in which they are written.
    public var fields: [Field]

    /// The content; not sent to a HEAD request, nor with a status that has none.
    public var body: [UInt8]

    /// Whether the connection ends after this answer, whatever the client asked for.
    public var closesConnection = false

    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: Fields apart from those that the writer adds.
    ///   - body: The content.
    public init(status: Status, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// An answer in JSON.
    ///
    /// - Parameters:
    ///   - body: The JSON text in UTF-8.
    ///   - status: The status code.
    /// - Returns: The answer, with its Content-Type.
    public static func json(_ body: [UInt8], status: Status = 200) -> Response {
        Response(status: status, fields: jsonFields, body: body)
    }

    /// Shared by the answers in JSON, which are many.
    private static let jsonFields = [Field("Content-Type", "application/json")]

    /// An answer in plain text.
    ///
    /// - Parameters:
    ///   - text: The content.
    ///   - status: The status code.
    /// - Returns: The answer, with its Content-Type.
    public static func text(_ text: String, status: Status = 200) -> Response {
        Response(
            status: status,
            fields: [Field("Content-Type", "text/plain; charset=utf-8")],
            body: Array(text.utf8)
        )
    }

    /// An answer in HTML.
    ///
    /// - Parameters:
    ///   - body: The page in UTF-8.
    ///   - status: The status code.
    /// - Returns: The answer, with its Content-Type.
    public static func html(_ body: [UInt8], status: Status = 200) -> Response {
        Response(
            status: status,
            fields: [Field("Content-Type", "text/html; charset=utf-8")],
            body: body
        )
    }

    /// The answer to a request that broke a rule: its status, and a sentence that says which.
    ///
    /// It ends the connection, except for 405 and 501 about a well-formed request's method.
    ///
    /// - Parameter error: The rule.
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

    /// The answer to OPTIONS (RFC 9110 §9.3.7).
    ///
    /// - Parameter allowed: The methods of the resource.
    /// - Returns: 204 with Allow.
    public static func options(allowed: [Method]) -> Response {
        let methods = allowed.map(\.description).joined(separator: ", ")
        return Response(status: 204, fields: [Field("Allow", methods)])
    }

    /// The first value of a field.
    ///
    /// - Parameter name: In any case of letters.
    /// - Returns: nil when there is none.
    public func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    /// 100 (Continue), complete: what a client that sent `Expect: 100-continue` waits for.
    public static let `continue` = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
}

/// What of a request decides how the answer to it is framed.
public struct AnswerFraming: Sendable, Hashable {
    /// Whether the request was HEAD: the answer has the fields of one with content, but none.
    public var isHEAD: Bool

    /// Whether the connection goes on after the answer.
    public var keepAlive: Bool

    /// The minor version of the request.
    public var minorVersion: Int

    /// Takes the facts one by one; the defaults are those for a request that could not be read.
    ///
    /// - Parameters:
    ///   - isHEAD: Whether the request was HEAD.
    ///   - keepAlive: Whether the connection goes on.
    ///   - minorVersion: The minor version of the request.
    public init(isHEAD: Bool = false, keepAlive: Bool = false, minorVersion: Int = 1) {
        self.isHEAD = isHEAD
        self.keepAlive = keepAlive
        self.minorVersion = minorVersion
    }
}

extension RequestHead {
    /// How an answer to this request is framed.
    public var answerFraming: AnswerFraming {
        AnswerFraming(isHEAD: method == .head, keepAlive: keepAlive, minorVersion: minorVersion)
    }
}
