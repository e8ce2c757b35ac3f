/// A rule of HTTP/1.1 that a peer's message violates, or a limit that it exceeds.
public enum HTTPError: Error, Equatable, Sendable {
    // Lines
    /// A line feed without a preceding carriage return (RFC 9112 §2.2).
    case bareLineFeed
    /// More than one empty line before a request line (RFC 9112 §2.2).
    case emptyLine
    /// The request line is not `method SP target SP version` (RFC 9112 §3).
    case requestLineMalformed
    /// The request line is longer than `limit` bytes.
    case requestLineTooLong(limit: Int)
    /// The target has none of the forms of RFC 9112 §3.2, or not the form required by its method.
    case targetMalformed
    /// A version of HTTP that is not 1.x (RFC 9110 §15.6.6).
    case versionUnsupported(String)

    // Fields
    /// A field line does not begin with a token and a colon (RFC 9112 §5).
    case fieldNameMalformed
    /// White space between a field's name and the colon (RFC 9112 §5.1).
    case spaceBeforeColon(field: String)
    /// A control character in a field's value (RFC 9110 §5.5).
    case fieldValueMalformed(field: String)
    /// A field continued on a second line (RFC 9112 §5.2).
    case obsoleteFolding
    /// More than `limit` field lines.
    case fieldsTooMany(limit: Int)
    /// More than `limit` bytes of field lines.
    case fieldsTooLong(limit: Int)
    /// A request of HTTP/1.1 without Host (RFC 9112 §3.2).
    case hostMissing
    /// More than one Host (RFC 9112 §3.2).
    case hostRepeated
    /// A Host that is not `host [":" port]` (RFC 9110 §7.2).
    case hostMalformed(String)
    /// An expectation other than `100-continue` (RFC 9110 §10.1.1).
    case expectationUnknown(String)

    // Content
    /// A Content-Length that is not a number (RFC 9110 §8.6).
    case contentLengthMalformed(String)
    /// More than one Content-Length (RFC 9112 §6.3).
    case contentLengthRepeated
    /// Both Content-Length and Transfer-Encoding (RFC 9112 §6.1).
    case contentLengthWithTransferEncoding
    /// Transfer-Encoding that does not end in `chunked`, or names it twice (RFC 9112 §6.3).
    case transferEncodingMalformed(String)
    /// Transfer-Encoding in a message of HTTP/1.0 (RFC 9112 §6.1).
    case transferEncodingInHTTP10
    /// A transfer coding other than `chunked` (RFC 9112 §6.1).
    case transferCodingUnsupported(String)
    /// Content without a length, where one is needed (RFC 9110 §15.5.12).
    case lengthRequired
    /// Content of more than `limit` bytes; `length` is the announced length, if any.
    case contentTooLong(length: Int?, limit: Int)
    /// A chunk does not begin with a hexadecimal size and well-formed extensions (RFC 9112 §7.1).
    case chunkMalformed
    /// A chunk is not followed by CRLF (RFC 9112 §7.1).
    case chunkUnterminated
    /// More than `limit` bytes of chunk extensions.
    case chunkExtensionsTooLong(limit: Int)

    // Refusals of well-formed requests
    /// The resource does not support the method (RFC 9110 §15.5.6).
    case methodNotAllowed(Method, allowed: [Method])
    /// No resource of this server supports the method (RFC 9110 §15.6.2).
    case methodUnsupported(Method)
    /// The request did not arrive within `seconds` (RFC 9110 §15.5.9).
    case timedOut(seconds: Int)

    // Responses
    /// The status line is not `version SP status SP reason` (RFC 9112 §4).
    case statusLineMalformed
    /// The status line is longer than `limit` bytes.
    case statusLineTooLong(limit: Int)
    /// The connection ended inside a response (RFC 9112 §8).
    case responseTruncated
}

extension HTTPError {
    /// The status of the refusal; 502 if the message was a response.
    public var status: Status {
        switch self {
        case .methodNotAllowed: 405
        case .timedOut: 408
        case .lengthRequired: 411
        case .contentTooLong: 413
        case .requestLineTooLong: 414
        case .expectationUnknown: 417
        case .fieldsTooMany, .fieldsTooLong: 431
        case .transferCodingUnsupported, .methodUnsupported: 501
        case .statusLineMalformed, .statusLineTooLong, .responseTruncated: 502
        case .versionUnsupported: 505
        default: 400
        }
    }
}

extension HTTPError: CustomStringConvertible {
    /// One sentence that describes the error, with the value and the limit.
    public var description: String {
        switch self {
        case .bareLineFeed: "A line ends in LF alone; HTTP/1.1 ends lines in CRLF."
        case .emptyLine: "More than one empty line precedes the request line."
        case .requestLineMalformed:
            "The request line is not METHOD, one space, TARGET, one space, HTTP/1.1."
        case .requestLineTooLong(let limit):
            "The request line is longer than \(limit) bytes."
        case .targetMalformed:
            "The request target is not a path with an optional query, nor another form that its "
                + "method allows."
        case .versionUnsupported(let version):
            "The version \"\(version)\" is not supported; use HTTP/1.1."
        case .fieldNameMalformed: "A header line does not begin with a field name and a colon."
        case .spaceBeforeColon(let field):
            "There is white space between the field name \"\(field)\" and its colon."
        case .fieldValueMalformed(let field):
            "The value of the field \"\(field)\" contains a control character."
        case .obsoleteFolding: "A header line begins with white space; folded fields are obsolete."
        case .fieldsTooMany(let limit): "There are more than \(limit) header lines."
        case .fieldsTooLong(let limit): "The header lines take more than \(limit) bytes."
        case .hostMissing: "A request of HTTP/1.1 needs the field Host."
        case .hostRepeated: "There is more than one field Host."
        case .hostMalformed(let host): "The Host \"\(host)\" is not a host with an optional port."
        case .expectationUnknown(let value):
            "The expectation \"\(value)\" is unknown; only 100-continue can be met."
        default: contentDescription
        }
    }

    private var contentDescription: String {
        switch self {
        case .contentLengthMalformed(let value): "The Content-Length \"\(value)\" is not a number."
        case .contentLengthRepeated: "There is more than one field Content-Length."
        case .contentLengthWithTransferEncoding:
            "Content-Length and Transfer-Encoding cannot be used together."
        case .transferEncodingMalformed(let value):
            "The Transfer-Encoding \"\(value)\" does not end in a single \"chunked\"."
        case .transferEncodingInHTTP10: "HTTP/1.0 has no Transfer-Encoding."
        case .transferCodingUnsupported(let value):
            "The Transfer-Encoding \"\(value)\" is not supported; only \"chunked\" is."
        case .lengthRequired: "The content needs a Content-Length."
        case .contentTooLong(let length?, let limit):
            "The content has \(length) bytes; at most \(limit) are accepted."
        case .contentTooLong(nil, let limit): "The content is longer than \(limit) bytes."
        case .chunkMalformed: "A chunk does not begin with its size in hexadecimal."
        case .chunkUnterminated: "A chunk is longer than its size says."
        case .chunkExtensionsTooLong(let limit):
            "The chunk extensions take more than \(limit) bytes."
        case .methodNotAllowed(let method, let allowed):
            "The method \(method) is not allowed here; use "
                + allowed.map(\.description).joined(separator: ", ") + "."
        case .methodUnsupported(let method): "The method \(method) is not supported."
        case .timedOut(let seconds): "The request did not arrive within \(seconds) seconds."
        case .statusLineMalformed: "The response does not begin with an HTTP/1.x status line."
        case .statusLineTooLong(let limit): "The status line is longer than \(limit) bytes."
        case .responseTruncated: "The connection ended before the response did."
        default: "The request is malformed."
        }
    }
}
