/// Why the HTTP API refuses a request: the status and the one line that says what to do.
///
/// The texts are those of the hosted service wherever they are known, since people search for them and the tests of
/// official libraries compare some of them letter by letter.
public struct APIError: Error, Sendable {
    /// The HTTP status.
    public var status: Int
    /// One line without its line end; it never holds a secret.
    public var message: String
    /// The limit that is met, if that is why; the client is told by the message.
    public var limit: Limit?

    /// Makes a refusal.
    ///
    /// - Parameters:
    ///   - status: The HTTP status, 400 to 599.
    ///   - message: One line.
    ///   - limit: The limit that is met, if that is why.
    public init(status: Int, message: String, limit: Limit? = nil) {
        self.status = status
        self.message = message
        self.limit = limit
    }

    /// The content of the response, `text/plain; charset=utf-8`: the message and one newline.
    public var body: [UInt8] { Array(message.utf8) + [UInt8(ascii: "\n")] }

    static func badRequest(_ message: String, limit: Limit? = nil) -> APIError {
        APIError(status: 400, message: message, limit: limit)
    }

    static func unauthorized(_ message: String) -> APIError {
        APIError(status: 401, message: message)
    }

    static func missing(_ parameter: String) -> APIError {
        badRequest("Missing required parameter: \(parameter)")
    }

    /// Returns `text` as one line in quotes, cut to a length that a log can bear.
    package static func quote(_ text: String, lengthMax: Int = 200) -> String {
        let characters = text.unicodeScalars.prefix(lengthMax)
        let isCut = characters.endIndex < text.unicodeScalars.endIndex
        let shown = String(String.UnicodeScalarView(characters)) + (isCut ? "…" : "")
        return String(decoding: JSONWriter.token(shown), as: UTF8.self)
    }
}

extension APIError: Equatable {
    /// Whether the client is told the same.
    public static func == (left: APIError, right: APIError) -> Bool {
        left.status == right.status && left.message == right.message
    }
}

extension APIError: CustomStringConvertible {
    /// The status and the message.
    public var description: String { "\(status) \(message)" }
}
