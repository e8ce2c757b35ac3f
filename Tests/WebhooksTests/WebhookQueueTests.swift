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
            delivery: delivery(id, events: events),
            cause: .gone,
            detail: "the endpoint answered 410",
            deathTime: 5
        )
    }

    private func changes() -> PendingWrites {
        PendingWrites(deadLetterCountMax: 200, deadLetterLengthMax: 1_000_000)
    }

    /// What the file has, and is to send.
    private func read(_ queue: WebhookQueue, isOpened: Bool = false) throws -> WebhookQueue.Findings
    {
        try queue.exchange(changes(), WebhookSettings(), isOpened: isOpened)
    }

    private func addDeadLetters(
        _ ids: ClosedRange<Int64>,
        in queue: WebhookQueue,
        events: String = "{}",
        countMax: Int = 100,
        lengthMax: Int = 1_000_000
    ) throws {
        var settings = WebhookSettings()
        settings.deadLetterCountMax = countMax
        settings.deadLetterLengthMax = lengthMax
        var changes = changes()
        for id in ids { changes.add(letter(id, events: events)) }
        _ = try queue.exchange(changes, settings)
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

    @Test func keepsWebhooksInTheirOrder() throws {
        let queue = try WebhookQueue(path: path)
        var added = changes()
        for id in [3, 1, 2] as [Int64] { added.add(delivery(id)) }
        _ = try queue.exchange(added, WebhookSettings())
        let reopened = try WebhookQueue(path: path)
        let found = try read(reopened, isOpened: true)
        #expect(found.deliveries == (1...3).map { delivery($0) })
        #expect(found.lastID == 3)
        var done = changes()
        for id in [1, 3, 99] as [Int64] { done.remove(id) }
        _ = try reopened.exchange(done, WebhookSettings())
        #expect(try queue.deliveryCount() == 1)
    }

    @Test func aFileOpenedLaterReceivesQueuedWebhooks() throws {
        let queue = try WebhookQueue(path: path)
        var stored = changes()
        for id in [2, 3, 4] as [Int64] { stored.add(delivery(id)) }
        _ = try queue.exchange(stored, WebhookSettings())
        // 1 is in no file, 2 in this one already, 3 was removed since it was written, 4 belongs to another run.
        var waiting = changes()
        for id in [1, 2] as [Int64] { waiting.add(delivery(id)) }
        for id in [3, 9] as [Int64] { waiting.remove(id) }
        let found = try queue.exchange(waiting, WebhookSettings(), isOpened: true)
        #expect(found.deliveries == [delivery(4)])
        #expect(try read(queue, isOpened: true).deliveries == [1, 2, 4].map { delivery($0) })
    }

    @Test func isReadableForItsOwnerAlone() throws {
        _ = try WebhookQueue(path: path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func listsDeadLettersNewestFirstAPageAtATime() throws {
        let queue = try WebhookQueue(path: path)
        try addDeadLetters(1...5, in: queue, events: #"{"name":"cache_miss","channel":"a"}"#)
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

    @Test func marksDeadLettersForReplay() throws {
        let queue = try WebhookQueue(path: path)
        try addDeadLetters(1...3, in: queue)
        #expect(try queue.replay(2))
        #expect(try !queue.replay(99))
        #expect(try read(queue).replays.map(\.id) == [2])
        #expect(try queue.deadLetters().map(\.isReplayed) == [false, true, false])
        #expect(try queue.replayAll() == 2)
        #expect(try read(queue).replays.map(\.id) == [1, 2, 3])
    }

    @Test func replaysAHundredAtATime() throws {
        let queue = try WebhookQueue(path: path)
        try addDeadLetters(1...101, in: queue, countMax: 1_000)
        #expect(try queue.replayAll() == 101)
        var found = try read(queue)
        #expect(found.replays.map(\.id) == Array(1...100) && found.hasMoreReplays)
        try queue.delete(1)
        try queue.delete(2)
        found = try read(queue)
        #expect(found.replays.map(\.id) == Array(3...101) && !found.hasMoreReplays)
    }

    @Test func deletesDeadLetters() throws {
        let queue = try WebhookQueue(path: path)
        try addDeadLetters(1...3, in: queue)
        #expect(try queue.delete(2))
        #expect(try !queue.delete(2))
        try queue.replay(1)
        #expect(try queue.deleteAll() == 1)
        #expect(try queue.deadLetters().map(\.id) == [1])
    }

    @Test func keepsTheNewestDeadLettersByNumber() throws {
        let queue = try WebhookQueue(path: path)
        try addDeadLetters(1...5, in: queue, countMax: 3)
        #expect(try queue.deadLetters().map(\.id) == [5, 4, 3])
        try addDeadLetters(6...6, in: queue, countMax: 3)
        #expect(try queue.deadLetters().map(\.id) == [6, 5, 4])
    }

    @Test func keepsTheNewestDeadLettersByLength() throws {
        let queue = try WebhookQueue(path: path)
        try addDeadLetters(
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

    @Test func theCommandLineReadsWhileTheBrokerHasItOpen() throws {
        let broker = try WebhookQueue(path: path)
        let commandLine = try WebhookQueue(reading: path)
        try addDeadLetters(1...1, in: broker)
        #expect(try commandLine.replayAll() == 1)
        #expect(try read(broker).replays.map(\.id) == [1])
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
