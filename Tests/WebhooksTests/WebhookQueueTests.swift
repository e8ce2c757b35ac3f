import Broker
import Foundation
import Testing

@testable import Webhooks

@Suite("The webhook file") struct WebhookQueueTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path()
    }

    private func delivery(_ id: Int64, events: String = "{}") -> Delivery {
        Delivery(
            id: id,
            endpoint: EndpointKey(app: appID, url: "http://a.test/ż", ordinal: 1),
            time: 1_700_000_000_123,
            events: Array(events.utf8),
            channels: ["a", "presence-b"]
        )
    }

    private func letter(_ id: Int64, events: String = "{}") -> DeadLetter {
        DeadLetter(
            delivery(id, events: events),
            cause: .gone,
            detail: "the endpoint answered 410",
            at: 5
        )
    }

    private func addDeadLetters(
        _ ids: ClosedRange<Int64>,
        in queue: WebhookQueue,
        events: String = "{}",
        countMax: Int = 100,
        lengthMax: Int = 1_000_000
    ) async throws {
        var changes = PendingWrites.Changes()
        changes.deadLetters = ids.map { letter($0, events: events) }
        try await queue.apply(changes, countMax: countMax, lengthMax: lengthMax)
    }

    /// Like `fanfare webhooks`, while the broker creates the file.
    @Test func canBeCreatedConcurrently() async throws {
        for round in 0..<20 {
            let path = "\(path)-\(round)"
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask { try WebhookQueue(path: path).deliveryCount() }
                }
                for try await count in group { #expect(count == 0) }
            }
        }
    }

    @Test func keepsWebhooksInTheirOrder() async throws {
        let queue = try WebhookQueue(path: path)
        var changes = PendingWrites.Changes()
        for id in [3, 1, 2] as [Int64] { changes.deliveries[id] = delivery(id) }
        try await queue.apply(changes, countMax: 1, lengthMax: 1)
        let reopened = try WebhookQueue(path: path)
        let all = try await reopened.deliveries()
        #expect(all.ids == [1, 2, 3])
        #expect(all.others == (1...3).map { delivery($0) })
        let others = try await reopened.deliveries(except: [2, 7])
        #expect(others.ids == [1, 2, 3])
        #expect(others.others == [delivery(1), delivery(3)])
        #expect(try await reopened.lastID() == 3)
        var done = PendingWrites.Changes()
        done.done = [1, 3, 99]
        try await reopened.apply(done, countMax: 1, lengthMax: 1)
        #expect(try queue.deliveryCount() == 1)
    }

    @Test func isReadableForItsOwnerAlone() throws {
        _ = try WebhookQueue(path: path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func listsDeadLettersNewestFirstAPageAtATime() async throws {
        let queue = try WebhookQueue(path: path)
        try await addDeadLetters(1...5, in: queue, events: #"{"name":"cache_miss","channel":"a"}"#)
        #expect(try queue.deadLetterCount() == 5)
        let page = try queue.deadLetters(countMax: 2)
        #expect(page.map(\.id) == [5, 4])
        #expect(try queue.deadLetters(countMax: 9, before: 4).map(\.id) == [3, 2, 1])
        let newest = try #require(page.first)
        #expect(newest == letter(5, events: #"{"name":"cache_miss","channel":"a"}"#))
        #expect(newest.eventsJSON == #"[{"name":"cache_miss","channel":"a"}]"#)
        #expect(newest.cause == .gone)
        #expect(newest.deathTime == 5)
    }

    @Test func marksDeadLettersForReplay() async throws {
        let queue = try WebhookQueue(path: path)
        try await addDeadLetters(1...3, in: queue)
        #expect(try queue.replay(2))
        #expect(try !queue.replay(99))
        #expect(try await queue.replays(countMax: 9).letters.map(\.id) == [2])
        #expect(try queue.deadLetters().map(\.isReplayed) == [false, true, false])
        #expect(try queue.replayAll() == 2)
        #expect(try await queue.replays(countMax: 2).letters.map(\.id) == [1, 2])
    }

    @Test func deletesDeadLetters() async throws {
        let queue = try WebhookQueue(path: path)
        try await addDeadLetters(1...3, in: queue)
        #expect(try queue.delete(2))
        #expect(try !queue.delete(2))
        try queue.replay(1)
        #expect(try queue.deleteAll() == 1)
        #expect(try queue.deadLetters().map(\.id) == [1])
    }

    @Test func keepsTheNewestDeadLettersByNumber() async throws {
        let queue = try WebhookQueue(path: path)
        try await addDeadLetters(1...5, in: queue, countMax: 3)
        #expect(try queue.deadLetters().map(\.id) == [5, 4, 3])
        try await addDeadLetters(6...6, in: queue, countMax: 3)
        #expect(try queue.deadLetters().map(\.id) == [6, 5, 4])
    }

    @Test func keepsTheNewestDeadLettersByLength() async throws {
        let queue = try WebhookQueue(path: path)
        try await addDeadLetters(
            1...5,
            in: queue,
            events: String(repeating: "a", count: 100),
            lengthMax: 250
        )
        #expect(try queue.deadLetters().map(\.id) == [5, 4])
    }

    @Test func theCommandLineMakesNoFile() throws {
        #expect(throws: WebhookQueueError.missing(path: path)) { try WebhookQueue(reading: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func theCommandLineReadsWhileTheBrokerHasItOpen() async throws {
        let broker = try WebhookQueue(path: path)
        let commandLine = try WebhookQueue(reading: path)
        try await addDeadLetters(1...1, in: broker)
        #expect(try commandLine.replayAll() == 1)
        #expect(try await broker.replays(countMax: 9).letters.map(\.id) == [1])
    }

    @Test func reportsAFileThatIsNoDatabase() throws {
        try Data(repeating: 0x41, count: 5_000).write(to: URL(fileURLWithPath: path))
        do {
            _ = try WebhookQueue(reading: path)
            Issue.record("a file of letters was opened as a database")
        } catch {
            #expect("\(error)".contains(path))
        }
    }
}
