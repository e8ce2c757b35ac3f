public import PusherProtocol

/// The webhooks that an endpoint receives.
public struct WebhookFilter: Sendable, Equatable {
    /// The kinds of webhooks.
    public let kinds: Set<WebhookKind>
    /// The prefix of its channels' names; empty for all.
    public let channelPrefix: String
    /// The suffix of its channels' names; empty for all.
    public let channelSuffix: String

    /// Creates a filter.
    public init(kinds: Set<WebhookKind>, channelPrefix: String = "", channelSuffix: String = "") {
        self.kinds = kinds
        self.channelPrefix = channelPrefix
        self.channelSuffix = channelSuffix
    }

    /// Whether it lets webhooks of a kind about a channel pass.
    public func accepts(_ kind: WebhookKind, on channel: ChannelName) -> Bool {
        guard kinds.contains(kind) else { return false }
        let name = channel.text.utf8
        return name.starts(with: channelPrefix.utf8)
            && name.reversed().starts(with: channelSuffix.utf8.reversed())
    }
}
