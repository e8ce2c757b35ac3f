/// Why something cannot be an endpoint of webhooks.
public enum WebhookEndpointFault: Error, Equatable, Sendable {
    /// It is not an absolute URL of `http` or `https`.
    case notAnHTTPURL(String)
    /// The URL has more than `lengthMax` bytes.
    case urlTooLong(length: Int, lengthMax: Int)
    /// User or password stand in the URL, and so would stand in logs.
    case credentialsInURL
    /// There is nothing that it wants to be told of.
    case noKinds
    /// There are more than `countMax` fields.
    case tooManyHeaders(count: Int, countMax: Int)
    /// The name is no token, or the value has control or non-ASCII characters.
    case malformedHeader(String)
    /// The field has more than `lengthMax` bytes.
    case headerTooLong(String, length: Int, lengthMax: Int)
    /// The field is the protocol's or the connection's own.
    case reservedHeader(String)
    /// Two names differ in upper and lower case only.
    case repeatedHeader(String)
}

extension WebhookEndpointFault: CustomStringConvertible {
    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .notAnHTTPURL(let url):
            "\"\(url)\" is no absolute URL that begins with http:// or https://"
        case .urlTooLong(let length, let lengthMax):
            "the URL has \(length) bytes, at most \(lengthMax) are allowed"
        case .credentialsInURL:
            "a URL with a user or a password would show them in logs: use a header instead"
        case .noKinds: "no kind of event is named, so nothing would ever be sent"
        case .tooManyHeaders(let count, let countMax):
            "there are \(count) headers, at most \(countMax) are allowed"
        case .malformedHeader(let name):
            "the header \"\(name)\" needs a name of letters, digits and hyphens, and a value in ASCII"
        case .headerTooLong(let name, let length, let lengthMax):
            "the header \(name) has \(length) bytes, at most \(lengthMax) are allowed"
        case .reservedHeader(let name): "the header \(name) is set by Fanfare itself"
        case .repeatedHeader(let name): "the header \(name) is given twice"
        }
    }
}
