internal import Broker
internal import HTTPClient
internal import Primitives
internal import PusherProtocol

/// A URL of an app's backend, and which webhooks it gets.
public struct WebhookEndpoint: Sendable, Equatable {
    /// The longest URL, in bytes.
    public static let urlLengthMax = 2_048
    /// The most fields that an app may add to a request.
    public static let headerCountMax = 20
    /// The length of such a field, name and value together, in bytes.
    public static let headerLengthMax = 4_096

    /// Where requests go: `http` or `https`.
    public let url: String
    /// What it is told of; official libraries fail on kinds that they do not know, so only what is named here is sent.
    public let kinds: Set<WebhookKind>
    /// How the names of its channels begin; empty for all.
    public let channelPrefix: String
    /// How the names of its channels end; empty for all.
    public let channelSuffix: String
    /// Fields that are added to each request, by name.
    public let headers: [String: String]
    /// Whether several events may travel in one request.
    public let isBatched: Bool

    /// Describes an endpoint.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, `http` or `https`, without user and password.
    ///   - kinds: What it is told of, at least one.
    ///   - channelPrefix: How the names of its channels begin.
    ///   - channelSuffix: How the names of its channels end.
    ///   - headers: Fields to add; none of the protocol's and of the connection's own.
    ///   - isBatched: Whether several events may travel in one request.
    /// - Throws: The first rule that it breaks.
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
        self.kinds = kinds
        self.channelPrefix = channelPrefix
        self.channelSuffix = channelSuffix
        self.headers = headers
        self.isBatched = isBatched
    }

    /// Whether requests can be sent to a URL.
    ///
    /// - Parameter url: The URL as it is configured.
    /// - Returns: Whether ``init(url:kinds:channelPrefix:channelSuffix:headers:isBatched:)`` takes it.
    public static func isURL(_ url: String) -> Bool {
        do {
            try check(url: url)
            return true
        } catch { return false }
    }

    /// Whether an event leads to a webhook to this endpoint.
    func accepts(_ event: ChannelEvent, on channel: ChannelName) -> Bool {
        guard let kind = WebhookKind(event), kinds.contains(kind) else { return false }
        let name = channel.text.utf8
        return name.starts(with: channelPrefix.utf8)
            && name.reversed().starts(with: channelSuffix.utf8.reversed())
    }

    private static func check(url: String) throws(WebhookEndpointFault) {
        guard url.utf8.count <= urlLengthMax else {
            throw .urlTooLong(length: url.utf8.count, lengthMax: urlLengthMax)
        }
        let authority = url.firstRange(of: "://").map { mark in
            url[mark.upperBound...].prefix { !"/?#".contains($0) }
        }
        guard authority?.contains("@") != true else { throw .credentialsInURL }
        guard HTTPResource(url, encodes: true) != nil else { throw .notAnHTTPURL(url) }
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

    /// Fields that say what the request is: an app's own would make it a different one.
    private static let reserved: Set<String> = [
        "content-type", "content-length", "content-encoding", "transfer-encoding", "host",
        "connection", "expect", "te", "trailer", "upgrade", "x-delivery-id",
    ]

    /// RFC 9110 §5.5, without what is not ASCII.
    private static func isValueByte(_ byte: UInt8) -> Bool {
        byte == 0x09 || (0x20...0x7E).contains(byte)
    }
}
