/// The changes that the file does not contain yet.
///
/// Changes are collected here during a write, and kept after a failed one. A webhook that is delivered before it was
/// written is never written. The limits of the endpoints' queues bound the deliveries; the dead letters have their own
/// limit.
struct PendingWrites: Sendable {
    /// The changes of one transaction.
    struct Changes: Sendable {
        /// Webhooks to insert.
        var deliveries: [Int64: Delivery] = [:]
        /// Webhooks to delete, by ID.
        var done: Set<Int64> = []
        /// Dead letters to insert.
        var deadLetters: [DeadLetter] = []
        /// Dead letters to delete because they are webhooks again, by ID.
        var replayed: Set<Int64> = []

        var isEmpty: Bool {
            deliveries.isEmpty && done.isEmpty && deadLetters.isEmpty && replayed.isEmpty
        }
    }

    /// The maximum number of dead letters; above it the oldest are lost.
    let deadLetterCountMax: Int
    /// The maximum length of their events, in bytes; a single one may be longer.
    let deadLetterLengthMax: Int

    private var changes = Changes()
    private var deadLetterLength = 0

    /// Creates an empty set of changes.
    init(deadLetterCountMax: Int, deadLetterLengthMax: Int) {
        self.deadLetterCountMax = deadLetterCountMax
        self.deadLetterLengthMax = deadLetterLengthMax
    }

    var isEmpty: Bool { changes.isEmpty }

    /// Adds a new webhook.
    mutating func keep(_ delivery: Delivery) { changes.deliveries[delivery.id] = delivery }

    /// Removes a delivered or abandoned webhook.
    mutating func finish(_ id: Int64) {
        if changes.deliveries.removeValue(forKey: id) == nil { changes.done.insert(id) }
    }

    /// Whether a webhook is removed, but may still be in the file.
    func isFinished(_ id: Int64) -> Bool { changes.done.contains(id) }

    /// Synchronizes with a file that was opened while webhooks were queued: inserts the missing ones, deletes the
    /// removed ones.
    ///
    /// - Parameters:
    ///   - waiting: The webhooks queued now.
    ///   - known: The webhooks queued before the file was read.
    ///   - stored: The webhooks in the file.
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

    /// Adds a dead letter.
    mutating func addDeadLetter(_ letter: DeadLetter) {
        finish(letter.id)
        changes.deadLetters.append(letter)
        deadLetterLength += letter.events.count
        dropOldestDeadLetter()
    }

    /// Removes a dead letter that is replayed as a new webhook.
    mutating func replay(_ id: Int64) { changes.replayed.insert(id) }

    /// Returns the changes, and empties the set.
    mutating func take() -> Changes {
        defer { (changes, deadLetterLength) = (Changes(), 0) }
        return changes
    }

    /// Returns changes that could not be written, as if they had not been taken.
    mutating func restore(_ failed: Changes) {
        for (id, delivery) in failed.deliveries where changes.done.remove(id) == nil {
            changes.deliveries[id] = delivery
        }
        changes.done.formUnion(failed.done)
        changes.replayed.formUnion(failed.replayed)
        changes.deadLetters.insert(contentsOf: failed.deadLetters, at: 0)
        deadLetterLength = changes.deadLetters.reduce(0) { $0 + $1.events.count }
        dropOldestDeadLetter()
    }

    private mutating func dropOldestDeadLetter() {
        var count = 0
        while changes.deadLetters.count - count > 1,
            changes.deadLetters.count - count > deadLetterCountMax
                || deadLetterLength > deadLetterLengthMax
        {
            deadLetterLength -= changes.deadLetters[count].events.count
            count += 1
        }
        changes.deadLetters.removeFirst(count)
    }
}
