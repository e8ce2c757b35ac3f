/// What the file does not know yet.
///
/// Changes are collected here while the file is being written, and stay when it cannot be: a webhook that is done
/// before it was written is never written. What waits here is bounded by what waits for the endpoints, and for
/// dead letters by a number and a length.
struct PendingWrites: Sendable {
    /// Changes that are written in one transaction.
    struct Changes: Sendable {
        /// The webhooks to be kept.
        var deliveries: [Int64: Delivery] = [:]
        /// The webhooks that are done, by id.
        var done: Set<Int64> = []
        /// The webhooks that were given up.
        var deaths: [DeadLetter] = []
        /// The dead letters that have become webhooks again, by id.
        var revived: Set<Int64> = []

        var isEmpty: Bool {
            deliveries.isEmpty && done.isEmpty && deaths.isEmpty && revived.isEmpty
        }
    }

    /// The dead letters that wait for the file; beyond it the oldest are lost.
    let deathCountMax: Int
    /// The length of their events, in bytes; a single one may be longer.
    let deathLengthMax: Int

    private var changes = Changes()
    private var deathLength = 0

    /// Begins with nothing to write.
    init(deathCountMax: Int, deathLengthMax: Int) {
        self.deathCountMax = deathCountMax
        self.deathLengthMax = deathLengthMax
    }

    var isEmpty: Bool { changes.isEmpty }

    /// Keeps a new webhook.
    mutating func keep(_ delivery: Delivery) { changes.deliveries[delivery.id] = delivery }

    /// Forgets a webhook that is done.
    mutating func finish(_ id: Int64) {
        if changes.deliveries.removeValue(forKey: id) == nil { changes.done.insert(id) }
    }

    /// Whether a webhook is done, and the file may still have it.
    func isFinished(_ id: Int64) -> Bool { changes.done.contains(id) }

    /// Makes up for a file that was opened while webhooks waited: what it lacks is written, what is done is deleted.
    ///
    /// - Parameters:
    ///   - waiting: What waits now.
    ///   - known: What waited when the file was about to be read.
    ///   - stored: What the file has.
    mutating func reconcile(waiting: [Delivery], known: Set<Int64>, stored: Set<Int64>) {
        var done = known.intersection(stored)
        for delivery in waiting {
            done.remove(delivery.id)
            if stored.contains(delivery.id) {
                changes.deliveries.removeValue(forKey: delivery.id)
            } else {
                keep(delivery)
            }
        }
        changes.done.formUnion(done)
    }

    /// Keeps a webhook that was given up as a dead letter.
    mutating func bury(_ letter: DeadLetter) {
        finish(letter.id)
        changes.deaths.append(letter)
        deathLength += letter.events.count
        loseOldest()
    }

    /// Forgets a dead letter that has become a new webhook.
    mutating func revive(_ id: Int64) { changes.revived.insert(id) }

    /// Takes what is to be written.
    mutating func take() -> Changes {
        defer { (changes, deathLength) = (Changes(), 0) }
        return changes
    }

    /// Takes back what could not be written, as if it had never been taken.
    mutating func restore(_ failed: Changes) {
        for (id, delivery) in failed.deliveries where changes.done.remove(id) == nil {
            changes.deliveries[id] = delivery
        }
        changes.done.formUnion(failed.done)
        changes.revived.formUnion(failed.revived)
        changes.deaths.insert(contentsOf: failed.deaths, at: 0)
        deathLength = changes.deaths.reduce(0) { $0 + $1.events.count }
        loseOldest()
    }

    private mutating func loseOldest() {
        var count = 0
        while changes.deaths.count - count > 1,
            changes.deaths.count - count > deathCountMax || deathLength > deathLengthMax
        {
            deathLength -= changes.deaths[count].events.count
            count += 1
        }
        changes.deaths.removeFirst(count)
    }
}
