import Net

/// Notices that nothing has moved for too long.
struct Patience {
    private let limit: Duration
    private var progress = -1
    private var since: MonotonicTime

    /// Patience that begins now.
    ///
    /// - Parameters:
    ///   - limit: How long nothing may move.
    ///   - now: The time.
    init(_ limit: Duration, since now: MonotonicTime) {
        self.limit = limit
        since = now
    }

    /// Whether `progress` has been the same for too long.
    mutating func isExhausted(progress: Int, at now: MonotonicTime) -> Bool {
        guard progress == self.progress else {
            self.progress = progress
            since = now
            return false
        }
        return since.duration(to: now) >= limit
    }

    /// Begins again: there is nothing to wait for.
    mutating func renew(at now: MonotonicTime) { since = now }
}
