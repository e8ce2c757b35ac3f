import Synchronization
import TestSite
import Testing

@testable import DemoSite

@Suite("Outbox") struct OutboxTests {
    private let changes = (1...5).map { OutgoingEvent("addUser", on: "userslist", data: "\($0)") }

    @Test func keepsTheOrder() async throws {
        let recorder = Recorder()
        let outbox = Outbox(trigger: recorder) { _ in }
        for change in changes { outbox.post(change) }
        await outbox.close()
        #expect(recorder.events.map(\.data) == ["1", "2", "3", "4", "5"])
        #expect(recorder.events.allSatisfy { $0.name == "addUser" && $0.channel == "userslist" })
    }

    @Test func retriesWhenTheBrokerIsUnavailable() async {
        let recorder = Recorder(refusals: 2)
        let outbox = Outbox(trigger: recorder, retryDelays: [.zero, .zero]) { _ in }
        for change in changes { outbox.post(change) }
        await outbox.close()
        #expect(recorder.events.count == 5)
        #expect(recorder.attempts == 7)
    }

    @Test func reportsDroppedEvents() async {
        let reports = Mutex([String]())
        let outbox = Outbox(trigger: Recorder(refusals: 9), retryDelays: [.zero]) { report in
            reports.withLock { $0.append(report) }
        }
        outbox.post(changes[0])
        await outbox.close()
        #expect(reports.withLock { $0 } == ["addUser did not reach the broker: away"])
    }

    @Test func doesNotRepeatAnEventThatMayHaveArrived() async {
        let recorder = Recorder(refusals: 1, mayHaveArrived: true)
        let outbox = Outbox(trigger: recorder, retryDelays: [.zero, .zero]) { _ in }
        for change in changes { outbox.post(change) }
        await outbox.close()
        #expect(recorder.attempts == 5)
        #expect(recorder.events.count == 4)
    }

    @Test func repeatsARepeatableEvent() async {
        let recorder = Recorder(refusals: 1, mayHaveArrived: true)
        let outbox = Outbox(trigger: recorder, retryDelays: [.zero]) { _ in }
        outbox.post(OutgoingEvent("list_changed", on: "films", data: "{}", isRepeatable: true))
        await outbox.close()
        #expect(recorder.attempts == 2)
        #expect(recorder.events.count == 1)
    }
}
