package import HTTP1

/// The reason for which a request is refused; the response is `{"error": "<description>"}`.
package enum RequestError: Error, Equatable, CustomStringConvertible {
    /// No route has this method and path.
    case noRoute(method: String, path: String)
    /// The body is neither JSON nor a form.
    case unsupportedContentType(String)
    /// The body is not an object of strings and integers.
    case notJSON
    /// The body is JSON of another structure; the text contains the path and the error.
    case unreadable(String)
    /// The body is not a form.
    case notAForm
    /// A field is missing.
    case missing(field: String)
    /// A field is blank.
    case empty(field: String)
    /// A text has more than `limit` characters.
    case tooLong(field: String, limit: Int)
    /// A field is not an integer.
    case notAnInteger(field: String)
    /// A demo's own reason.
    case refused(Status, String)

    /// The HTTP status of the response.
    package var status: Status {
        switch self {
        case .noRoute: 404
        case .unsupportedContentType: 415
        case .notJSON, .unreadable, .notAForm, .missing, .empty, .tooLong, .notAnInteger: 400
        case .refused(let status, _): status
        }
    }

    /// The reason, as a sentence.
    package var description: String {
        switch self {
        case .noRoute(let method, let path): "There is no route \(method) \(path)."
        case .unsupportedContentType(let type):
            "The body must be application/json or application/x-www-form-urlencoded, not \(type)."
        case .notJSON: "The body is not a JSON object of strings and integers."
        case .unreadable(let reason): "The body has the wrong structure: \(reason)"
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
