public import Webhooks

/// One endpoint of an app's backend, which is told what happens on the app's channels.
public struct WebhookConfiguration: Sendable, Hashable {
    /// Where to send to: `https://…` or `http://…`.
    public var url: String
    /// What to tell.
    public var events = WebhookKind.common
    /// What a channel's name must begin with; empty for any channel.
    public var channelPrefix = ""
    /// What a channel's name must end with; empty for any channel.
    public var channelSuffix = ""
    /// Fields to send beside the protocol's own, by name; their values may be secrets and are not shown.
    public var headers: [String: String] = [:]
    /// Whether several events may share a request.
    public var isBatching = false

    /// Creates an endpoint that is told what every official library understands, about every channel.
    public init(url: String) { self.url = url }

    /// Fields that the protocol, HTTP or the connection decides about, in lower case.
    static let reservedHeaders: Set<String> = [
        "content-type", "content-length", "transfer-encoding", "content-encoding", "host",
        "connection", "upgrade", "expect", "te", "trailer", "keep-alive", "x-delivery-id",
    ]
    /// How the names of the protocol's own fields begin, in lower case.
    static let reservedHeaderPrefix = "x-pusher-"
    /// The most fields to send beside the protocol's own.
    static let headerCountMax = 20
}

extension WebhookKind {
    /// What every official library understands: some refuse a whole request for one name that they do not know.
    public static let common: [WebhookKind] = [
        .channelOccupied, .channelVacated, .memberAdded, .memberRemoved, .clientEvent,
    ]
}

extension WebhookConfiguration: CustomStringConvertible, CustomReflectable {
    /// The endpoint without its headers, fit for a log.
    public var description: String { "webhook \(url)" }

    /// What `dump` and debuggers show: all but the values of headers.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url, "events": events.map(\.rawValue), "channelPrefix": channelPrefix,
                "channelSuffix": channelSuffix, "headers": headers.keys.sorted(),
                "isBatching": isBatching,
            ]
        )
    }
}
