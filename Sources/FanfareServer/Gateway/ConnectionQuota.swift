import Synchronization

/// How many connections there may be at a time, over all shards: the one number that they share.
final class ConnectionQuota: Sendable {
    private let limit: Int
    private let taken = Atomic(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes one place, if one is left.
    func take() -> Bool {
        guard taken.add(1, ordering: .relaxed).newValue <= limit else {
            giveBack()
            return false
        }
        return true
    }

    /// Gives a taken place back.
    func giveBack() { taken.subtract(1, ordering: .relaxed) }
}
