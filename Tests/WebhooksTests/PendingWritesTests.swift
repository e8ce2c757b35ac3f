import Testing

@testable import Webhooks

@Suite("Pending writes") struct PendingWritesTests {
    private func delivery(_ id: Int64, length: Int = 0) -> Delivery {
        Delivery(
            id: id,
            endpoint: EndpointKey(app: appID, url: "", ordinal: 0),
            time: 0,
            events: [UInt8](repeating: 0, count: length),
            channels: []
        )
    }

    private func letter(_ id: Int64, length: Int = 0) -> DeadLetter {
        DeadLetter(
            delivery: delivery(id, length: length),
            cause: .exhausted,
            detail: "",
            deathTime: 0
        )
    }

    @Test func whatIsDoneBeforeItWasWrittenIsNeverWritten() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.add(delivery(1))
        pendingWrites.remove(1)
        #expect(pendingWrites.isEmpty)
    }

    @Test func whatWasWrittenIsDeletedWhenItIsDone() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.add(delivery(1))
        let first = pendingWrites.take()
        #expect(first.deliveries.keys.sorted() == [1])
        pendingWrites.remove(1)
        let second = pendingWrites.take()
        #expect(second.removed == [1])
        #expect(pendingWrites.isEmpty)
    }

    @Test func restoresAFailedWrite() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.add(delivery(1))
        pendingWrites.add(delivery(2))
        pendingWrites.remove(9)
        pendingWrites.add(letter(8))
        pendingWrites.remove(7)
        let failed = pendingWrites.take()
        // Removed during the failed write: it was not written, and need not be.
        pendingWrites.remove(1)
        pendingWrites.add(delivery(3))
        pendingWrites.add(letter(6))
        pendingWrites.restore(failed)
        let changes = pendingWrites.take()
        #expect(changes.deliveries.keys.sorted() == [2, 3])
        #expect(changes.removed == [9, 8, 7, 6])
        #expect(changes.deadLetters.map(\.id) == [8, 6])
    }

    @Test func pendingDeadLettersAreLimitedByNumber() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 3, deadLetterLengthMax: 1_000)
        for id in 1...3 { pendingWrites.add(letter(Int64(id))) }
        let failed = pendingWrites.take()
        for id in 4...5 { pendingWrites.add(letter(Int64(id))) }
        pendingWrites.restore(failed)
        let changes = pendingWrites.take()
        #expect(changes.deadLetters.map(\.id) == [3, 4, 5])
    }

    @Test func pendingDeadLettersAreLimitedByLength() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 100)
        pendingWrites.add(letter(1, length: 60))
        let failed = pendingWrites.take()
        pendingWrites.add(letter(2, length: 60))
        pendingWrites.restore(failed)
        pendingWrites.add(letter(3, length: 40))
        let changes = pendingWrites.take()
        #expect(changes.deadLetters.map(\.id) == [2, 3])
        pendingWrites.add(letter(4, length: 999))
        let last = pendingWrites.take()
        #expect(last.deadLetters.map(\.id) == [4])
    }
}
