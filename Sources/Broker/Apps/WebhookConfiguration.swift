internal import Primitives

/// One webhook endpoint of an app.
public struct WebhookConfiguration: Sendable, Hashable {
    /// The URL to send webhooks to: `https://…` or `http://…`.
    public var url: String
    /// The URL to show, without what may be a secret in it.
    public var shownURL: String { url.withoutURLSecrets }
    /// The events to send.
    public var events = WebhookKind.common
    /// The prefix of the names of channels whose events are sent; empty for all.
    public var channelPrefix = ""
    /// The suffix of the names of channels whose events are sent; empty for all.
    public var channelSuffix = ""
    /// Additional fields of the request, by name; their values may be secrets and are not printed.
    public var headers: [String: String] = [:]
    /// Whether several events may share a request.
    public var isBatching = false

    /// Creates an endpoint for the events that every official library understands, of all channels.
    public init(url: String) { self.url = url }

    /// The fields that the protocol, HTTP or the connection sets, in lower case.
    package static let reservedHeaders: Set<String> = [
        "content-type", "content-length", "transfer-encoding", "content-encoding", "host",
        "connection", "upgrade", "expect", "te", "trailer", "keep-alive", "x-delivery-id",
        "x-fanfare-webhook-id",
    ]
    /// The prefix of the protocol's own fields, in lower case.
    package static let reservedHeaderPrefix = "x-pusher-"
    /// The maximum number of additional fields.
    package static let headerCountMax = 20
}

extension WebhookKind {
    /// The events that every official library understands: some reject a whole request for one unknown name.
    public static let common: [WebhookKind] = [
        .channelOccupied, .channelVacated, .memberAdded, .memberRemoved, .clientEvent,
    ]
}

extension WebhookConfiguration: CustomStringConvertible, CustomReflectable {
    /// The endpoint without its headers and the secrets of its URL, for logs.
    public var description: String { "webhook \(shownURL)" }

    /// The fields for `dump` and debuggers, without the values of headers.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": shownURL, "events": events.map(\.rawValue), "channelPrefix": channelPrefix,
                "channelSuffix": channelSuffix, "headers": headers.keys.sorted(),
                "isBatching": isBatching,
            ]
        )
    }
}
