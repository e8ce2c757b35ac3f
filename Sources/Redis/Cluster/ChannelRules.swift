/// The configured rules of a channel, for the scripts that change it.
public struct ChannelRules: Hashable, Sendable {
    /// The changes that webhooks report.
    public struct Webhooks: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt8
        /// Makes a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The channel becomes occupied or vacant.
        public static let occupancy = Webhooks(rawValue: 1)
        /// A member joins or leaves.
        public static let members = Webhooks(rawValue: 2)
        /// A subscription finds no cached event.
        public static let cacheMisses = Webhooks(rawValue: 4)
        /// The number of subscriptions changes.
        public static let counts = Webhooks(rawValue: 8)
    }

    /// Whether the channel is recoverable, so that its messages may have positions.
    public var isRecoverable: Bool
    /// Whether the number of subscriptions is announced to subscribers.
    public var announcesCount: Bool
    /// The changes that webhooks report.
    public var webhooks: Webhooks
    /// The maximum number of streams of the app's channels without subscriptions, in the channel's pool.
    public var positionsMax: Int

    /// Makes the rules of a channel.
    public init(
        isRecoverable: Bool = false,
        announcesCount: Bool = false,
        webhooks: Webhooks = [],
        positionsMax: Int = 100_000
    ) {
        self.isRecoverable = isRecoverable
        self.announcesCount = announcesCount
        self.webhooks = webhooks
        self.positionsMax = positionsMax
    }

    /// The flags of the scripts; see `attach.lua` and `join.lua`.
    var flags: String {
        (isRecoverable ? "r" : "") + (announcesCount ? "n" : "")
            + (webhooks.contains(.occupancy) ? "o" : "") + (webhooks.contains(.members) ? "j" : "")
            + (webhooks.contains(.cacheMisses) ? "x" : "") + (webhooks.contains(.counts) ? "s" : "")
    }
}
