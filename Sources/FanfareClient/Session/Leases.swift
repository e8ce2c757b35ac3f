/// The channels in use: by the app itself, with `subscribe()`, and by the holders of leases.
struct Leases: Sendable {
    private struct Holders: Sendable {
        var isOwn = false
        var count = 0

        var isEmpty: Bool { !isOwn && count == 0 }
    }

    private var holders: [String: Holders] = [:]

    /// Records that the app itself subscribes; always returns `true`, because a refused subscription is tried again.
    mutating func beginOwn(_ channel: String) -> Bool {
        holders[channel, default: Holders()].isOwn = true
        return true
    }

    /// Records that the app itself unsubscribes; returns whether the channel is no longer in use.
    mutating func endOwn(_ channel: String) -> Bool {
        holders[channel]?.isOwn = false
        return removeIfEmpty(channel)
    }

    /// Adds a lease; always returns `true`, because a refused subscription is tried again.
    mutating func begin(_ channel: String) -> Bool {
        holders[channel, default: Holders()].count += 1
        return true
    }

    /// Removes a lease; returns whether the channel is no longer in use.
    mutating func end(_ channel: String) -> Bool {
        holders[channel]?.count -= 1
        return removeIfEmpty(channel)
    }

    private mutating func removeIfEmpty(_ channel: String) -> Bool {
        guard holders[channel]?.isEmpty != false else { return false }
        holders[channel] = nil
        return true
    }
}
