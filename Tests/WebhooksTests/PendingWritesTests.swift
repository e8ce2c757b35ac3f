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
        DeadLetter(delivery(id, length: length), cause: .exhausted, detail: "", at: 0)
    }

    @Test func whatIsDoneBeforeItWasWrittenIsNeverWritten() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.keep(delivery(1))
        pendingWrites.finish(1)
        #expect(pendingWrites.isEmpty)
    }

    @Test func whatWasWrittenIsDeletedWhenItIsDone() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.keep(delivery(1))
        let first = pendingWrites.take()
        #expect(first.deliveries.keys.sorted() == [1])
        pendingWrites.finish(1)
        let second = pendingWrites.take()
        #expect(second.done == [1])
        #expect(pendingWrites.isEmpty)
    }

    @Test func restoresAFailedWrite() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.keep(delivery(1))
        pendingWrites.keep(delivery(2))
        pendingWrites.finish(9)
        pendingWrites.addDeadLetter(letter(8))
        pendingWrites.replay(7)
        let failed = pendingWrites.take()
        // Removed during the failed write: it was not written, and need not be.
        pendingWrites.finish(1)
        pendingWrites.keep(delivery(3))
        pendingWrites.addDeadLetter(letter(6))
        pendingWrites.restore(failed)
        let changes = pendingWrites.take()
        #expect(changes.deliveries.keys.sorted() == [2, 3])
        #expect(changes.done == [9, 8, 6])
        #expect(changes.deadLetters.map(\.id) == [8, 6])
        #expect(changes.replayed == [7])
    }

    @Test func aFileOpenedLaterReceivesQueuedWebhooks() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 1_000)
        pendingWrites.finish(9)
        pendingWrites.keep(delivery(2))
        // 1 is in no file, 2 in this one already, 3 was removed since it was read, 4 belongs to another run.
        let waiting = [delivery(1), delivery(2)]
        pendingWrites.reconcile(waiting: waiting, known: [1, 2, 3], stored: [2, 3, 4])
        #expect(pendingWrites.isFinished(3) && pendingWrites.isFinished(9))
        #expect(!pendingWrites.isFinished(2) && !pendingWrites.isFinished(4))
        // Webhooks in the file are deleted there when they are done.
        pendingWrites.finish(2)
        let changes = pendingWrites.take()
        #expect(changes.deliveries.keys.sorted() == [1])
        #expect(changes.done == [2, 3, 9])
    }

    @Test func pendingDeadLettersAreLimitedByNumber() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 3, deadLetterLengthMax: 1_000)
        for id in 1...3 { pendingWrites.addDeadLetter(letter(Int64(id))) }
        let failed = pendingWrites.take()
        for id in 4...5 { pendingWrites.addDeadLetter(letter(Int64(id))) }
        pendingWrites.restore(failed)
        let changes = pendingWrites.take()
        #expect(changes.deadLetters.map(\.id) == [3, 4, 5])
    }

    @Test func pendingDeadLettersAreLimitedByLength() {
        var pendingWrites = PendingWrites(deadLetterCountMax: 10, deadLetterLengthMax: 100)
        pendingWrites.addDeadLetter(letter(1, length: 60))
        let failed = pendingWrites.take()
        pendingWrites.addDeadLetter(letter(2, length: 60))
        pendingWrites.restore(failed)
        pendingWrites.addDeadLetter(letter(3, length: 40))
        let changes = pendingWrites.take()
        #expect(changes.deadLetters.map(\.id) == [2, 3])
        pendingWrites.addDeadLetter(letter(4, length: 999))
        let last = pendingWrites.take()
        #expect(last.deadLetters.map(\.id) == [4])
    }
}
