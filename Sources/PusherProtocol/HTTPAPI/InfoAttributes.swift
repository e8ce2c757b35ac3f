/// What a request of the HTTP API wants to know about channels.
public struct InfoAttributes: OptionSet, Hashable, Sendable {
    /// One bit an attribute.
    public let rawValue: UInt8

    /// Takes a set of bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `user_count`: the members of a presence channel.
    public static let userCount = InfoAttributes(rawValue: 1)
    /// `subscription_count`: the connections subscribed, if the app counts them.
    public static let subscriptionCount = InfoAttributes(rawValue: 2)
    /// `cache`: the last event of a cache channel and how long it stays.
    public static let cache = InfoAttributes(rawValue: 4)

    /// Reads a list such as `user_count,subscription_count`; an empty one asks for nothing.
    ///
    /// - Throws: 400 for an attribute that does not exist.
    public init(_ list: String) throws(APIError) {
        var attributes: InfoAttributes = []
        for name in list.split(separator: ",") {
            switch name.filter({ $0 != " " }) {
            case "user_count": attributes.insert(.userCount)
            case "subscription_count": attributes.insert(.subscriptionCount)
            case "cache": attributes.insert(.cache)
            default:
                throw .badRequest(
                    "Unknown info attribute: \(APIError.quote(String(name), lengthMax: 64)) "
                        + "(known are user_count, subscription_count and cache)"
                )
            }
        }
        self = attributes
    }

    /// The attributes that a channel has: asked for on another one, they are left out of the answer to a trigger.
    public func applying(to kind: ChannelKind) -> InfoAttributes {
        var attributes = self
        if !kind.isPresence { attributes.remove(.userCount) }
        if !kind.isCache { attributes.remove(.cache) }
        return attributes
    }

    /// Checks what a trigger asks for.
    ///
    /// - Parameter countsSubscriptions: Whether the app has subscription counting switched on.
    /// - Throws: 400 for what a trigger cannot answer.
    public func checkForTrigger(countsSubscriptions: Bool) throws(APIError) {
        guard !contains(.cache) else { throw InfoAttributes.noCacheHere }
        try checkSubscriptionCount(countsSubscriptions)
    }

    /// Checks what a list of channels asks for.
    ///
    /// - Parameters:
    ///   - prefix: The value of `filter_by_prefix`.
    ///   - countsSubscriptions: Whether the app has subscription counting switched on.
    /// - Throws: 400 for what a list cannot answer.
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
        guard !contains(.cache) else { throw InfoAttributes.noCacheHere }
        try checkSubscriptionCount(countsSubscriptions)
    }

    /// Checks what is asked about one channel.
    ///
    /// - Parameters:
    ///   - kind: The kind of the channel.
    ///   - countsSubscriptions: Whether the app has subscription counting switched on.
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

    private static var noCacheHere: APIError {
        .badRequest("cache may only be requested for a single channel")
    }
}
