import Synchronization

/// How many connections there may be at a time, over all shards: the one number that they share.
public final class ConnectionQuota: Sendable {
    private let limit: Atomic<Int>
    private let taken = Atomic(0)

    /// Makes a quota of `limit` places, none of which is taken.
    public init(limit: Int) {
        self.limit = Atomic(limit)
    }

    /// Takes one place, if one is left.
    public func take() -> Bool {
        guard taken.add(1, ordering: .relaxed).newValue <= limit.load(ordering: .relaxed) else {
            giveBack()
            return false
        }
        return true
    }

    /// Gives a taken place back.
    public func giveBack() { taken.subtract(1, ordering: .relaxed) }

    /// Changes how many places there are; if more are taken, none is given until enough are given back.
    public func resize(to limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// How many places are taken.
    public var takenCount: Int { taken.load(ordering: .relaxed) }

    /// Whether no place is taken.
    public var isUnused: Bool { takenCount == 0 }
}
