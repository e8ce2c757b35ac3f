/// A refused request to the HTTP API: the status and one line of explanation.
///
/// The texts are those of the hosted service where they are known. Users search for them, and tests of official
/// libraries compare some of them exactly.
public struct APIError: Error, Sendable {
    /// The HTTP status.
    public var status: Int
    /// One line without its line end; it never contains a secret.
    public var message: String
    /// The exceeded limit, if that is the cause; not part of the response.
    public var limit: Limit?

    /// Creates an error with an HTTP status from 400 to 599, one line, and the exceeded limit if that is the cause.
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

    /// The error of a key that is not a string of 1 to ``IdempotencyKey/lengthMax`` characters.
    package static var invalidIdempotencyKey: APIError {
        badRequest(
            "idempotency_key must be a string of 1 to \(IdempotencyKey.lengthMax) characters"
        )
    }

    /// Returns `text` as one line in quotes, truncated to `lengthMax` characters.
    package static func quote(_ text: String, lengthMax: Int = 200) -> String {
        let characters = text.unicodeScalars.prefix(lengthMax)
        let isCut = characters.endIndex < text.unicodeScalars.endIndex
        let shown = String(String.UnicodeScalarView(characters)) + (isCut ? "…" : "")
        return String(decoding: JSONWriter.token(shown), as: UTF8.self)
    }
}

extension APIError: Equatable {
    /// Compares status and message, which the client receives.
    public static func == (left: APIError, right: APIError) -> Bool {
        left.status == right.status && left.message == right.message
    }
}

extension APIError: CustomStringConvertible {
    /// The status and the message.
    public var description: String { "\(status) \(message)" }
}
