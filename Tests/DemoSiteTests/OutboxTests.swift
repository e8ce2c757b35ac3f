import FanfareAPI
import Foundation
import GRDB
import Synchronization
import TestSite
import Testing

@testable import DemoSite

@Suite("Outbox", .timeLimit(.minutes(1))) struct OutboxTests {
    private let database: DatabaseQueue

    init() throws {
        database = try DatabaseQueue()
        try database.write { try $0.execute(sql: "CREATE TABLE names (name TEXT)") }
    }

    private func event(_ number: Int) -> OutgoingEvent {
        OutgoingEvent("addUser", on: "userslist", data: "\(number)")
    }

    @Test func keepsTheOrderOfTransactions() async throws {
        let recorder = Recorder()
        let outbox = try Outbox(database, trigger: recorder) { _ in }
        for number in 1...5 { try outbox.post(event(number)) }
        try await database.write { database in
            for number in 6...9 { try outbox.post(event(number), in: database) }
        }
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.map(\.data) == (1...9).map(String.init))
        #expect(recorder.events.allSatisfy { $0.name == "addUser" && $0.channel == "userslist" })
    }

    @Test("A transaction that is rolled back sends nothing")
    func isTransactional() async throws {
        struct Rollback: Error {}
        let recorder = Recorder()
        let outbox = try Outbox(database, trigger: recorder) { _ in }
        await #expect(throws: Rollback.self) {
            try await database.write { database in
                try database.execute(sql: "INSERT INTO names VALUES ('Ann')")
                try outbox.post(event(1), in: database)
                throw Rollback()
            }
        }
        try outbox.post(event(2))
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.map(\.data) == ["2"])
    }

    @Test(
        "While the broker is away, events wait; none is skipped",
        arguments: [
            .unreachable("away"), .connectionLost("cut"), .refused(status: 503, message: "busy"),
        ] as [FanfareAPIError]
    )
    func waitsForTheBroker(refusal: FanfareAPIError) async throws {
        let recorder = Recorder(refusals: 2, refusal)
        let reports = Mutex<[String]>([])
        let outbox = try Outbox(database, trigger: recorder) { report in
            reports.withLock { $0.append(report) }
        }
        for number in 1...5 { try outbox.post(event(number)) }
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.map(\.data) == ["1", "2", "3", "4", "5"])
        #expect(recorder.attempts == 7)
        let lines = reports.withLock { $0 }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("addUser waits for the broker, next attempt in") })
    }

    @Test("An event that the broker refuses is reported, and does not stop the others")
    func reportsRefusedEvents() async throws {
        let reports = Mutex<[String]>([])
        let recorder = Recorder(refusals: 1, .refused(status: 413, message: "too long"))
        let outbox = try Outbox(database, trigger: recorder) { report in
            reports.withLock { $0.append(report) }
        }
        for number in 1...2 { try outbox.post(event(number)) }
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.map(\.data) == ["2"])
        #expect(reports.withLock { $0.first?.contains("addUser was not published") } == true)
    }

    @Test("What was not sent before the end is sent at the next start, before newer events")
    func survivesAnEnd() async throws {
        let away = Recorder(refusals: .max)
        do {
            let outbox = try Outbox(database, trigger: away) { _ in }
            for number in 1...3 { try outbox.post(event(number)) }
        }
        #expect(away.events == [])
        let recorder = Recorder()
        let outbox = try Outbox(database, trigger: recorder) { _ in }
        try outbox.post(event(4))
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.map(\.data) == ["1", "2", "3", "4"])
    }
}
