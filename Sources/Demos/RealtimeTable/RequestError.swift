import HTTP1

/// Why a request is refused; the answer's body is `{"error": "<description>"}`.
enum RequestError: Error, Equatable, CustomStringConvertible {
    case nothingHere(method: String, path: String)
    case unsupportedContentType(String)
    case notJSON
    case notAForm
    case missing(field: String)
    case empty(field: String)
    case tooLong(field: String, limit: Int)
    case notAnInteger(field: String)
    case unknownUser(id: Int64)
    case listIsFull(limit: Int)

    /// The HTTP status of the answer.
    var status: Status {
        switch self {
        case .nothingHere, .unknownUser: 404
        case .unsupportedContentType: 415
        case .notJSON, .notAForm, .missing, .empty, .tooLong, .notAnInteger: 400
        case .listIsFull: 409
        }
    }

    var description: String {
        switch self {
        case .nothingHere(let method, let path): "Nothing answers \(method) \(path)."
        case .unsupportedContentType(let type):
            "The body must be application/json or application/x-www-form-urlencoded, not \(type)."
        case .notJSON: "The body is not a JSON object of strings and integers."
        case .notAForm: "The body is not a form: a percent sign must begin a UTF-8 escape like %20."
        case .missing(let field): "The field \(field) is missing."
        case .empty(let field): "The field \(field) must not be empty."
        case .tooLong(let field, let limit):
            "The field \(field) must not have more than \(limit) characters."
        case .notAnInteger(let field): "The field \(field) must be an integer."
        case .unknownUser(let id): "There is no user with the id \(id)."
        case .listIsFull(let limit): "The list is full: it takes \(limit) users at most."
        }
    }
}
