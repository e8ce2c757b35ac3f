public import PusherProtocol

/// How far a client has come with a channel.
enum Subscription {
    /// Asked for, and not yet granted by the channel's home.
    case awaited(request: UInt32)
    case active
}

/// A client's subscriptions, by channel.
///
/// One is held in place: most clients have no more, and an idle client should cost no table.
public struct Subscriptions {
    private var first: (channel: ChannelName, state: Subscription)?
    private var others: [ChannelName: Subscription] = [:]

    /// How many there are, awaited ones included.
    public var count: Int { others.count + (first == nil ? 0 : 1) }

    /// Calls `body` with each channel, in no order.
    public func forEachChannel(_ body: (ChannelName) -> Void) {
        if let first { body(first.channel) }
        for channel in others.keys { body(channel) }
    }

    /// The channels, in no order, for a caller that deals with some of them at a time.
    public func makeIterator() -> Iterator {
        Iterator(first: first?.channel, others: others.keys.makeIterator())
    }

    /// Goes through the channels of subscriptions as they were when it was made.
    public struct Iterator: IteratorProtocol {
        fileprivate var first: ChannelName?
        fileprivate var others: [ChannelName: Subscription].Keys.Iterator

        /// The next channel; `nil` when all have been given.
        public mutating func next() -> ChannelName? { first.take() ?? others.next() }
    }

    /// The state of the subscription to `channel`; nil if there is none.
    subscript(channel: ChannelName) -> Subscription? {
        if let first, first.channel == channel { return first.state }
        return others.isEmpty ? nil : others[channel]
    }

    /// Adds a subscription to a channel that has none, or replaces it.
    ///
    /// The name given is the one that is kept: all subscribers can share one copy of a long name.
    mutating func put(_ channel: ChannelName, _ state: Subscription) {
        if first.map({ $0.channel == channel }) ?? others.isEmpty {
            first = (channel, state)
        } else {
            // A value's update would keep the old name.
            others[channel] = nil
            others[channel] = state
        }
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
