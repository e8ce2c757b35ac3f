/// Who needs which channels: the app itself, by `subscribe()`, and the holders of leases.
struct Leases: Sendable {
    private struct Holders: Sendable {
        var isOwn = false
        var count = 0

        var isEmpty: Bool { !isOwn && count == 0 }
    }

    private var holders: [String: Holders] = [:]

    /// Records that the app itself subscribes.
    ///
    /// - Returns: Always `true`: a refused subscription is tried again.
    mutating func beginOwn(_ channel: String) -> Bool {
        holders[channel, default: Holders()].isOwn = true
        return true
    }

    /// Records that the app itself unsubscribes.
    ///
    /// - Returns: Whether nobody needs the channel any more.
    mutating func endOwn(_ channel: String) -> Bool {
        holders[channel]?.isOwn = false
        return removeIfEmpty(channel)
    }

    /// Adds a lease.
    ///
    /// - Returns: Always `true`: a refused subscription is tried again.
    mutating func begin(_ channel: String) -> Bool {
        holders[channel, default: Holders()].count += 1
        return true
    }

    /// Removes a lease.
    ///
    /// - Returns: Whether nobody needs the channel any more.
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
