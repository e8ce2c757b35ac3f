public import Broker
internal import HTTPClient
internal import Primitives
public import PusherProtocol

/// A URL of an app's backend, and the webhooks that it receives.
public struct WebhookEndpoint: Sendable, Equatable {
    /// The maximum length of a URL, in bytes.
    public static let urlLengthMax = 2_048
    /// The maximum number of headers that an app may add to a request.
    public static let headerCountMax = 20
    /// The maximum length of such a header, name and value together, in bytes.
    public static let headerLengthMax = 4_096

    /// The URL: `http` or `https`.
    public let url: String
    /// The URL to show, without parts that may be secret.
    public var shownURL: String { url.withoutURLSecrets }
    /// The webhooks that it receives.
    public let filter: WebhookFilter
    /// The kinds of webhooks; official libraries fail on unknown kinds, so only these are sent.
    public var kinds: Set<WebhookKind> { filter.kinds }
    /// Headers added to each request, by name.
    public let headers: [String: String]
    /// Whether a request may contain several events.
    public let isBatched: Bool

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, `http` or `https`, without user and password.
    ///   - kinds: The kinds of webhooks, at least one.
    ///   - channelPrefix: The prefix of its channels' names.
    ///   - channelSuffix: The suffix of its channels' names.
    ///   - headers: Headers to add; none of the protocol's and of the connection's own.
    ///   - isBatched: Whether a request may contain several events.
    /// - Throws: The first violated rule.
    public init(
        url: String,
        kinds: Set<WebhookKind>,
        channelPrefix: String = "",
        channelSuffix: String = "",
        headers: [String: String] = [:],
        isBatched: Bool = false
    ) throws(WebhookEndpointFault) {
        try Self.check(url: url)
        guard !kinds.isEmpty else { throw .noKinds }
        try Self.check(headers: headers)
        self.url = url
        filter = WebhookFilter(
            kinds: kinds,
            channelPrefix: channelPrefix,
            channelSuffix: channelSuffix
        )
        self.headers = headers
        self.isBatched = isBatched
    }

    /// Whether ``init(url:kinds:channelPrefix:channelSuffix:headers:isBatched:)`` accepts a URL.
    public static func isURL(_ url: String) -> Bool {
        do {
            try check(url: url)
            return true
        } catch { return false }
    }

    /// Whether the endpoint receives an event.
    func accepts(_ event: ChannelEvent, on channel: ChannelName) -> Bool {
        WebhookKind(event).map { accepts($0, on: channel) } ?? false
    }

    /// Whether the endpoint receives webhooks of a kind about a channel.
    public func accepts(_ kind: WebhookKind, on channel: ChannelName) -> Bool {
        filter.accepts(kind, on: channel)
    }

    private static func check(url: String) throws(WebhookEndpointFault) {
        guard url.utf8.count <= urlLengthMax else {
            throw .urlTooLong(length: url.utf8.count, lengthMax: urlLengthMax)
        }
        let authority = url.firstRange(of: "://").map { mark in
            url[mark.upperBound...].prefix { !"/?#".contains($0) }
        }
        guard authority?.contains("@") != true else { throw .credentialsInURL }
        guard HTTPResource(url, encodes: true) != nil else {
            throw .notAnHTTPURL(url.withoutURLSecrets)
        }
    }

    private static func check(headers: [String: String]) throws(WebhookEndpointFault) {
        guard headers.count <= headerCountMax else {
            throw .tooManyHeaders(count: headers.count, countMax: headerCountMax)
        }
        var names: Set<String> = []
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            let length = name.utf8.count + value.utf8.count
            guard !name.isEmpty, name.utf8.allSatisfy(OctetSet.token.contains),
                value.utf8.allSatisfy(isValueByte)
            else { throw .malformedHeader(name) }
            guard length <= headerLengthMax else {
                throw .headerTooLong(name, length: length, lengthMax: headerLengthMax)
            }
            let lowercased = name.lowercased()
            guard !lowercased.hasPrefix("x-pusher-"), !reserved.contains(lowercased) else {
                throw .reservedHeader(name)
            }
            guard names.insert(lowercased).inserted else { throw .repeatedHeader(name) }
        }
    }

    /// Headers of the protocol and of the connection, which an app must not replace.
    private static let reserved: Set<String> = [
        "content-type", "content-length", "content-encoding", "transfer-encoding", "host",
        "connection", "expect", "te", "trailer", "upgrade", "x-delivery-id",
        "x-fanfare-webhook-id",
    ]

    /// RFC 9110 §5.5, ASCII only.
    private static func isValueByte(_ byte: UInt8) -> Bool {
        byte == 0x09 || (0x20...0x7E).contains(byte)
    }
}

/// The reason why an endpoint's configuration is invalid.
public enum WebhookEndpointFault: Error, Equatable, Sendable {
    /// The URL, shown without its secrets, is not an absolute URL of `http` or `https`.
    case notAnHTTPURL(String)
    /// The URL has more than `lengthMax` bytes.
    case urlTooLong(length: Int, lengthMax: Int)
    /// The URL contains a user or a password, which would appear in logs.
    case credentialsInURL
    /// No kind of event is configured.
    case noKinds
    /// There are more than `countMax` headers.
    case tooManyHeaders(count: Int, countMax: Int)
    /// The name is not a token, or the value has control or non-ASCII characters.
    case malformedHeader(String)
    /// The header has more than `lengthMax` bytes.
    case headerTooLong(String, length: Int, lengthMax: Int)
    /// The header belongs to the protocol or to the connection.
    case reservedHeader(String)
    /// Two names differ only in case.
    case repeatedHeader(String)
}

extension WebhookEndpointFault: CustomStringConvertible {
    /// The fault, and what is expected.
    public var description: String {
        switch self {
        case .notAnHTTPURL(let url):
            "\"\(url)\" is not an absolute URL that begins with http:// or https://"
        case .urlTooLong(let length, let lengthMax):
            "the URL has \(length) bytes, at most \(lengthMax) are allowed"
        case .credentialsInURL:
            "a URL with a user or a password would show them in logs: use a header instead"
        case .noKinds: "no event is named, so nothing would be sent"
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
