public import PusherProtocol

/// The state of a subscription.
enum Subscription {
    /// Requested, and not yet granted by the channel's home; the client may track its position itself.
    case awaited(request: UInt32, tracks: Bool)
    /// Granted; the client may track its position in the channel's stream.
    case active(isTracked: Bool)
}

/// A client's subscriptions, by channel.
///
/// The first is stored inline: most clients have only one, and an idle client should not need a table.
public struct Subscriptions {
    private var first: (channel: ChannelName, state: Subscription)?
    private var others: [ChannelName: Subscription] = [:]

    /// The number of subscriptions, including requested ones.
    public var count: Int { others.count + (first == nil ? 0 : 1) }

    /// Calls `body` with each channel, in no particular order.
    public func forEachChannel(_ body: (ChannelName) -> Void) {
        if let first { body(first.channel) }
        for channel in others.keys { body(channel) }
    }

    /// Returns an iterator over the channels, for callers that process them in portions.
    public func makeIterator() -> Iterator {
        Iterator(first: first?.channel, others: others.keys.makeIterator())
    }

    /// Iterates over a snapshot of the channels.
    public struct Iterator: IteratorProtocol {
        fileprivate var first: ChannelName?
        fileprivate var others: [ChannelName: Subscription].Keys.Iterator

        /// The next channel; `nil` at the end.
        public mutating func next() -> ChannelName? { first.take() ?? others.next() }
    }

    /// Whether the client is subscribed to `channel`, or has requested that.
    public func contains(_ channel: ChannelName) -> Bool { self[channel] != nil }

    /// The state of the subscription to `channel`; nil if there is none.
    subscript(channel: ChannelName) -> Subscription? {
        if let first, first.channel == channel { return first.state }
        return others.isEmpty ? nil : others[channel]
    }

    /// Adds or replaces the subscription to a channel.
    ///
    /// This copy of the name is the one stored: all subscribers can share one copy of a long name.
    mutating func put(_ channel: ChannelName, _ state: Subscription) {
        if first.map({ $0.channel == channel }) ?? others.isEmpty {
            first = (channel, state)
        } else {
            // Updating the value would keep the old copy of the name.
            others[channel] = nil
            others[channel] = state
        }
    }

    /// Removes any subscription, and returns its channel; `nil` if there is none.
    public mutating func popFirst() -> ChannelName? {
        guard let first = first.take() else { return others.popFirst()?.key }
        return first.channel
    }

    /// Removes the subscription to `channel`; false if there is none.
    mutating func remove(_ channel: ChannelName) -> Bool {
        if let first, first.channel == channel {
            self.first = nil
            return true
        }
        return others.removeValue(forKey: channel) != nil
    }
}
