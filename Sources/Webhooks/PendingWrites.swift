/// The changes that the file does not contain yet.
///
/// Changes are collected here during a write, and kept after a failed one. A webhook that is delivered before it was
/// written is never written. The limits of the endpoints' queues bound the deliveries; the dead letters have their own
/// limit.
struct PendingWrites: Sendable {
    /// Webhooks to insert.
    var deliveries: [Int64: Delivery] = [:]
    /// Webhooks and dead letters to delete, by ID.
    private(set) var removed: Set<Int64> = []
    /// Dead letters to insert, oldest first.
    private(set) var deadLetters: [DeadLetter] = []
    private var deadLetterLength = 0

    /// The maximum number of dead letters; above it the oldest are lost.
    let deadLetterCountMax: Int
    /// The maximum length of their events, in bytes; a single one may be longer.
    let deadLetterLengthMax: Int

    /// Creates an empty set of changes.
    init(deadLetterCountMax: Int, deadLetterLengthMax: Int) {
        self.deadLetterCountMax = deadLetterCountMax
        self.deadLetterLengthMax = deadLetterLengthMax
    }

    var isEmpty: Bool { deliveries.isEmpty && removed.isEmpty && deadLetters.isEmpty }

    /// Adds a new webhook.
    mutating func add(_ delivery: Delivery) { deliveries[delivery.id] = delivery }

    /// Adds a dead letter in place of its webhook.
    mutating func add(_ letter: DeadLetter) {
        remove(letter.id)
        deadLetters.append(letter)
        deadLetterLength += letter.delivery.events.count
        dropOldestDeadLetters()
    }

    /// Removes a webhook that is delivered, or a dead letter that is replayed.
    mutating func remove(_ id: Int64) {
        if deliveries.removeValue(forKey: id) == nil { removed.insert(id) }
    }

    /// Returns the changes, and empties the set.
    mutating func take() -> PendingWrites {
        defer { (deliveries, removed, deadLetters, deadLetterLength) = ([:], [], [], 0) }
        return self
    }

    /// Returns changes that could not be written, as if they had not been taken.
    mutating func restore(_ failed: PendingWrites) {
        for (id, delivery) in failed.deliveries where removed.remove(id) == nil {
            deliveries[id] = delivery
        }
        removed.formUnion(failed.removed)
        deadLetters.insert(contentsOf: failed.deadLetters, at: 0)
        deadLetterLength += failed.deadLetterLength
        dropOldestDeadLetters()
    }

    private mutating func dropOldestDeadLetters() {
        var count = 0
        while deadLetters.count - count > 1,
            deadLetters.count - count > deadLetterCountMax || deadLetterLength > deadLetterLengthMax
        {
            deadLetterLength -= deadLetters[count].delivery.events.count
            count += 1
        }
        deadLetters.removeFirst(count)
    }
}
