package import HTTP1

/// Why a request is refused; the answer's body is `{"error": "<description>"}`.
package enum RequestError: Error, Equatable, CustomStringConvertible {
    /// No route has this method and path.
    case nothingHere(method: String, path: String)
    /// The body is neither JSON nor a form.
    case unsupportedContentType(String)
    /// The body is not an object of strings and integers.
    case notJSON
    /// The body is JSON of another shape; the text says where and how.
    case unreadable(String)
    /// The body is not a form.
    case notAForm
    /// A field is not there.
    case missing(field: String)
    /// A field is blank.
    case empty(field: String)
    /// A text has more than `limit` characters.
    case tooLong(field: String, limit: Int)
    /// A field is something else than digits.
    case notAnInteger(field: String)
    /// What a demo has to say for itself.
    case refused(Status, String)

    /// The HTTP status of the answer.
    package var status: Status {
        switch self {
        case .nothingHere: 404
        case .unsupportedContentType: 415
        case .notJSON, .unreadable, .notAForm, .missing, .empty, .tooLong, .notAnInteger: 400
        case .refused(let status, _): status
        }
    }

    /// The sentence that the caller reads.
    package var description: String {
        switch self {
        case .nothingHere(let method, let path): "Nothing answers \(method) \(path)."
        case .unsupportedContentType(let type):
            "The body must be application/json or application/x-www-form-urlencoded, not \(type)."
        case .notJSON: "The body is not a JSON object of strings and integers."
        case .unreadable(let reason): "The body is not what is asked for: \(reason)"
        case .notAForm: "The body is not a form: a percent sign must begin a UTF-8 escape like %20."
        case .missing(let field): "The field \(field) is missing."
        case .empty(let field): "The field \(field) must not be empty."
        case .tooLong(let field, let limit):
            "The field \(field) must not have more than \(limit) characters."
        case .notAnInteger(let field): "The field \(field) must be an integer."
        case .refused(_, let sentence): sentence
        }
    }
}
