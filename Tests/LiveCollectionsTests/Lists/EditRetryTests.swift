import FanfareClient
import FanfareTesting
import LiveRows
import Synchronization
import Testing

@testable import LiveCollections

@Suite("Edits without an answer", .timeLimit(.minutes(2))) @MainActor struct EditRetryTests {
    private let source = ScriptedSource()

    private func options(attemptsMax: Int?) -> ListOptions {
        var options = impatient
        options.commitAttemptsMax = attemptsMax
        return options
    }

    @Test("An edit that fails too often is handed back, and the later ones go on")
    func givesUp() async throws {
        let list = try await source.liveList(options(attemptsMax: 3))
        var refused: [RefusedEdit<Player>] = []
        list.observeRefusals { refused.append($0) }
        let first = list.edit { $0.remove(1) }
        let second = list.edit { $0.remove(2) }
        for _ in 0..<3 {
            try await until { source.commits.count == 1 }
            #expect(source.commits.first?.mutation == first.mutation)
            source.answerCommit(.failure(Late()))
        }
        await #expect(throws: LiveListError.unanswered(attempts: 3, reason: "Late()")) {
            try await first.confirmed()
        }
        #expect(refused.map(\.commit.operations) == [[.remove(1)]])
        #expect(list.rows.map(\.id) == [1, 3])
        try await until { source.commits.first?.mutation == second.mutation }
        source.answerCommit(.success(6))
        try await second.confirmed()
        #expect(list.retriedEdit == nil)
    }

    @Test("Without a limit an edit is sent until it is answered")
    func unlimited() async throws {
        let list = try await source.liveList(options(attemptsMax: nil))
        let edit = list.edit { $0.remove(1) }
        for _ in 0..<100 {
            try await until { source.commits.count == 1 }
            source.answerCommit(.failure(Late()))
        }
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(6))
        try await edit.confirmed()
    }

    @Test("Each failed attempt is reported with its error and number")
    func reports() async throws {
        let list = try await source.liveList()
        var retries: [RetriedEdit<Player>] = []
        list.observeRetries { retries.append($0) }
        let edit = list.edit { $0.remove(1) }
        for count in 1...2 {
            try await until { source.commits.count == 1 }
            source.answerCommit(.failure(BackendFailure(status: 503)))
            try await until { retries.count == count }
        }
        #expect(retries.map(\.attempts) == [1, 2])
        #expect(retries.allSatisfy { $0.commit.mutation == edit.mutation })
        #expect("\(retries[0].error)".contains("503"))
        #expect(list.retriedEdit?.attempts == 2)
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(6))
        try await edit.confirmed()
        #expect(list.retriedEdit == nil)
    }

    @Test("The answers of two attempts at once start one attempt")
    func oneAttemptAtATime() async throws {
        var options = impatient
        let clock = ManualClock()
        options.clock = clock.clientClock
        options.backoff = Backoff(floor: .seconds(7), window: .zero, cap: .seconds(7))
        let list = try await source.liveList(options)
        list.edit { $0.remove(1) }
        try await until { source.commits.count == 1 }
        source.answerCommit(.failure(Late()))
        try await clock.waitForSleep(of: .seconds(7))
        clock.advance(by: .seconds(7))
        try await until { source.commits.count == 1 }
        // The network is back while the second attempt is under way: a third one starts at once.
        await source.say(.subscribed)
        try await until { source.commits.count == 2 }
        var count = 0
        list.observeRetries { _ in count += 1 }
        source.answerCommit(.failure(Late()))
        source.answerCommit(.failure(Late()))
        try await clock.waitForSleep(of: .seconds(7))
        clock.advance(by: .seconds(7))
        try await until { source.commits.count == 1 }
        #expect(count == 1)
        #expect(source.commits.count == 1)
    }

    @Test("A task that waits for an edit can be cancelled; the edit goes on")
    func cancelsWait() async throws {
        let list = try await source.liveList()
        let edit = list.edit { $0.remove(1) }
        let outcomes = Mutex<[String]>([])
        let waits = (0..<2).map { _ in
            Task {
                do {
                    try await edit.confirmed()
                    outcomes.withLock { $0.append("confirmed") }
                } catch {
                    outcomes.withLock { $0.append("\(type(of: error))") }
                }
            }
        }
        try await until { source.commits.count == 1 }
        waits[0].cancel()
        try await until { outcomes.withLock { $0 == ["CancellationError"] } }
        source.answerCommit(.success(6))
        await waits[1].value
        #expect(outcomes.withLock { $0 } == ["CancellationError", "confirmed"])
        let late = Task { try await list.edit { $0.remove(2) }.confirmed() }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
    }
}
