import Primitives

/// The attributes of channels that a request to the HTTP API includes.
public struct InfoAttributes: OptionSet, Hashable, Sendable {
    /// One bit for each attribute.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `user_count`: the members of a presence channel.
    public static let userCount = InfoAttributes(rawValue: 1)
    /// `subscription_count`: the number of subscribed connections, if the app counts them.
    public static let subscriptionCount = InfoAttributes(rawValue: 2)
    /// `cache`: the last event of a cache channel and its remaining lifetime.
    public static let cache = InfoAttributes(rawValue: 4)
    /// `position`: the position of the last message of the channel's stream, or of a triggered event.
    ///
    /// If the channel has no stream, one begins with the request.
    public static let position = InfoAttributes(rawValue: 8)

    /// Parses a list such as `user_count,subscription_count`, which may be empty; throws 400 for an unknown attribute.
    public init(_ list: String) throws(APIError) {
        var attributes: InfoAttributes = []
        for name in list.utf8.split(separator: UInt8(ascii: ",")) {
            let word = name.filter { $0 != UInt8(ascii: " ") }
            switch true {
            case word.span.equals("user_count"): attributes.insert(.userCount)
            case word.span.equals("subscription_count"): attributes.insert(.subscriptionCount)
            case word.span.equals("cache"): attributes.insert(.cache)
            case word.span.equals("position"): attributes.insert(.position)
            default:
                throw .badRequest(
                    "Unknown info attribute: \(APIError.quote(String(Substring(name)), lengthMax: 64)) "
                        + "(known are user_count, subscription_count, cache and position)"
                )
            }
        }
        self = attributes
    }

    /// Returns the attributes that a channel of this kind has; the response to a trigger omits the others.
    public func applying(to kind: ChannelKind) -> InfoAttributes {
        var attributes = self
        if !kind.isPresence { attributes.remove(.userCount) }
        if !kind.isCache { attributes.remove(.cache) }
        return attributes
    }

    /// Validates the attributes requested by a trigger.
    ///
    /// - Parameter countsSubscriptions: Whether the app has subscription counting enabled.
    /// - Throws: 400 for an attribute that a trigger cannot return.
    public func checkForTrigger(countsSubscriptions: Bool) throws(APIError) {
        guard !contains(.cache) else { throw InfoAttributes.cacheNotAllowed }
        try checkSubscriptionCount(countsSubscriptions)
    }

    /// Validates the attributes requested for a list of channels.
    ///
    /// - Parameters:
    ///   - prefix: The value of `filter_by_prefix`.
    ///   - countsSubscriptions: Whether the app has subscription counting enabled.
    /// - Throws: 400 for an attribute that a list cannot return.
    public func checkForChannels(
        prefix: String,
        countsSubscriptions: Bool
    ) throws(APIError) {
        guard !contains(.userCount) || prefix.utf8.starts(with: "presence-".utf8) else {
            // The spelling is the hosted service's: tests of official libraries compare it.
            throw .badRequest(
                "user_count may only be requested for presence channels - "
                    + "please supply filter_by_prefix begining with presence-"
            )
        }
        guard !contains(.cache) else { throw InfoAttributes.cacheNotAllowed }
        guard !contains(.position) else { throw InfoAttributes.positionNotAllowed }
        try checkSubscriptionCount(countsSubscriptions)
    }

    /// Validates the attributes requested for one channel.
    ///
    /// - Parameters:
    ///   - kind: The kind of the channel.
    ///   - countsSubscriptions: Whether the app has subscription counting enabled.
    /// - Throws: 400 for an attribute that the channel does not have.
    public func checkForChannel(
        of kind: ChannelKind,
        countsSubscriptions: Bool
    ) throws(APIError) {
        guard !contains(.userCount) || kind.isPresence else {
            throw .badRequest(
                "Cannot retrieve the user count unless the channel is a presence channel"
            )
        }
        guard !contains(.cache) || kind.isCache else {
            throw .badRequest("Cannot retrieve the cache unless the channel is a cache channel")
        }
        try checkSubscriptionCount(countsSubscriptions)
    }

    private func checkSubscriptionCount(_ countsSubscriptions: Bool) throws(APIError) {
        guard countsSubscriptions || !contains(.subscriptionCount) else {
            throw .badRequest(
                "subscription_count may only be requested "
                    + "when subscription counting is enabled for the app"
            )
        }
    }

    private static var positionNotAllowed: APIError {
        .badRequest("position may only be requested for a single channel, or by a trigger")
    }

    private static var cacheNotAllowed: APIError {
        .badRequest("cache may only be requested for a single channel")
    }
}
