/// Where the readers of one lease begin in the stream of its channel.
struct LeaseStart: Equatable {
    /// The app itself, with `subscribe()`; its readers are the callbacks.
    static let own = 0

    /// The number of the lease.
    let lease: Int
    /// The position up to which the app has the events, if it gave one.
    var position: ChannelPosition?

    /// Whether the app has the events up to a position.
    func includes(_ other: ChannelPosition?) -> Bool {
        guard let position, let other else { return false }
        return other.precedes(position)
    }
}

/// The channels in use: by the app itself, with `subscribe()`, and by the holders of leases.
struct Leases: Sendable {
    private struct Holders: Sendable {
        /// The start of the app's own subscription.
        var own: LeaseStart?
        var count = 0

        var isEmpty: Bool { own == nil && count == 0 }
    }

    private var holders: [String: Holders] = [:]
    private var lastLease = LeaseStart.own

    /// Records that the app itself subscribes; always returns `true`, because a refused subscription is tried again.
    ///
    /// While it is subscribed a later position changes nothing: the callbacks may belong to parts of the app that have
    /// not received the events up to it.
    mutating func beginOwn(_ channel: String, at position: ChannelPosition? = nil) -> Bool {
        guard holders[channel]?.own == nil else { return true }
        let start = LeaseStart(lease: LeaseStart.own, position: position)
        holders[channel, default: Holders()].own = start
        return true
    }

    /// Records that the app itself unsubscribes; returns whether the channel is no longer in use.
    mutating func endOwn(_ channel: String) -> Bool {
        holders[channel]?.own = nil
        return removeIfEmpty(channel)
    }

    /// Adds a lease, and returns its number.
    mutating func begin(_ channel: String) -> Int {
        holders[channel, default: Holders()].count += 1
        lastLease += 1
        return lastLease
    }

    /// Removes a lease; returns whether the channel is no longer in use.
    mutating func end(_ channel: String) -> Bool {
        holders[channel]?.count -= 1
        return removeIfEmpty(channel)
    }

    /// Whether the app's own subscription begins after a position, which its callbacks therefore do not receive.
    func ownIncludes(_ position: ChannelPosition?, of channel: String) -> Bool {
        holders[channel]?.own?.includes(position) == true
    }

    /// Delivers all events from now on to the callbacks of a channel, because of a gap.
    mutating func clearOwnStart(of channel: String) {
        holders[channel]?.own?.position = nil
    }

    private mutating func removeIfEmpty(_ channel: String) -> Bool {
        guard holders[channel]?.isEmpty != false else { return false }
        holders[channel] = nil
        return true
    }
}
