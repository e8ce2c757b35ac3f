#if canImport(Darwin)
    import Primitives
#else
    import Synchronization
#endif

/// A limit on the number of connections, shared by all shards.
public final class ConnectionQuota: Sendable {
    private let limit: Atomic<Int>
    private let taken = Atomic(0)

    /// Creates a quota of `limit` places, all free.
    public init(limit: Int) {
        self.limit = Atomic(limit)
    }

    /// Takes one place; false if none is free.
    public func take() -> Bool {
        guard taken.add(1, ordering: .relaxed).newValue <= limit.load(ordering: .relaxed) else {
            giveBack()
            return false
        }
        return true
    }

    /// Returns a taken place.
    public func giveBack() { taken.subtract(1, ordering: .relaxed) }

    /// Changes the number of places.
    ///
    /// If more are taken, ``take()`` fails until enough are returned.
    public func resize(to limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// The number of taken places.
    public var takenCount: Int { taken.load(ordering: .relaxed) }

    /// Whether no place is taken.
    public var isUnused: Bool { takenCount == 0 }
}
