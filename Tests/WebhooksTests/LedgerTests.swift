import Testing

@testable import Webhooks

@Suite("What the file does not know yet") struct LedgerTests {
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
        var ledger = Ledger(deathCountMax: 10, deathLengthMax: 1_000)
        ledger.keep(delivery(1))
        ledger.finish(1)
        #expect(ledger.isEmpty)
    }

    @Test func whatWasWrittenIsDeletedWhenItIsDone() {
        var ledger = Ledger(deathCountMax: 10, deathLengthMax: 1_000)
        ledger.keep(delivery(1))
        let first = ledger.take()
        #expect(first.deliveries.keys.sorted() == [1])
        ledger.finish(1)
        let second = ledger.take()
        #expect(second.done == [1])
        #expect(ledger.isEmpty)
    }

    @Test func whatCouldNotBeWrittenIsAsIfItHadNeverBeenTaken() {
        var ledger = Ledger(deathCountMax: 10, deathLengthMax: 1_000)
        ledger.keep(delivery(1))
        ledger.keep(delivery(2))
        ledger.finish(9)
        ledger.bury(letter(8))
        ledger.revive(7)
        let failed = ledger.take()
        // Done while the file was tried: it was not written, and need not be.
        ledger.finish(1)
        ledger.keep(delivery(3))
        ledger.bury(letter(6))
        ledger.restore(failed)
        let changes = ledger.take()
        #expect(changes.deliveries.keys.sorted() == [2, 3])
        #expect(changes.done == [9, 8, 6])
        #expect(changes.deaths.map(\.id) == [8, 6])
        #expect(changes.revived == [7])
    }

    @Test func aFileThatIsOpenedLaterIsMadeToHoldWhatWaits() {
        var ledger = Ledger(deathCountMax: 10, deathLengthMax: 1_000)
        ledger.finish(9)
        ledger.keep(delivery(2))
        // 1 is in no file, 2 in this one already, 3 done since it was read, 4 another's.
        let waiting = [delivery(1), delivery(2)]
        ledger.reconcile(waiting: waiting, known: [1, 2, 3], stored: [2, 3, 4])
        #expect(ledger.isFinished(3) && ledger.isFinished(9))
        #expect(!ledger.isFinished(2) && !ledger.isFinished(4))
        // What the file has is deleted there when it is done.
        ledger.finish(2)
        let changes = ledger.take()
        #expect(changes.deliveries.keys.sorted() == [1])
        #expect(changes.done == [2, 3, 9])
    }

    @Test func theDeadDoNotPileUpWhileTheFileIsAway() {
        var ledger = Ledger(deathCountMax: 3, deathLengthMax: 1_000)
        for id in 1...3 { ledger.bury(letter(Int64(id))) }
        let failed = ledger.take()
        for id in 4...5 { ledger.bury(letter(Int64(id))) }
        ledger.restore(failed)
        let changes = ledger.take()
        #expect(changes.deaths.map(\.id) == [3, 4, 5])
    }

    @Test func norDoTheirEvents() {
        var ledger = Ledger(deathCountMax: 10, deathLengthMax: 100)
        ledger.bury(letter(1, length: 60))
        let failed = ledger.take()
        ledger.bury(letter(2, length: 60))
        ledger.restore(failed)
        ledger.bury(letter(3, length: 40))
        let changes = ledger.take()
        #expect(changes.deaths.map(\.id) == [2, 3])
        ledger.bury(letter(4, length: 999))
        let last = ledger.take()
        #expect(last.deaths.map(\.id) == [4])
    }
}
