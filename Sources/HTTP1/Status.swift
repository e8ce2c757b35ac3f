/// The status code of a response (RFC 9110 §15), a number from 100 to 599.
public struct Status: Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The three digits.
    public let code: Int

    /// Makes a status from 100 to 599; any other code traps, because a peer could not parse it.
    public init(_ code: Int) {
        precondition(100..<600 ~= code, "a status code has three digits, from 100 to 599")
        self.code = code
    }

    /// Makes a status from a literal from 100 to 599: `Response(status: 404)`.
    public init(integerLiteral value: Int) { self.init(value) }

    /// Whether the response is interim, followed by a final one (RFC 9110 §15.2).
    public var isInformational: Bool { code < 200 }

    /// Whether the code is 2xx.
    public var isSuccess: Bool { 200..<300 ~= code }

    /// Whether a response with this status never has content (RFC 9110 §6.4.1).
    var hasNoContent: Bool { code < 200 || code == 204 || code == 304 }

    /// The code and the reason phrase, as in a status line.
    public var description: String { "\(code) \(reason)" }

    /// The registered reason phrase; empty for an unregistered code.
    public var reason: String {
        switch code {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
