import Broker
import PusherProtocol
import Synchronization
import Testing

@testable import Archive

@Suite("The archive's writer") struct ArchiveWriterTests {
    private let storage = ScriptedStorage()
    private let writer: ArchiveWriter

    init() throws {
        var settings = ArchiveWriter.Settings()
        settings.retryPeriod = 1_000
        settings.retryPause = 100
        writer = try ArchiveWriter(storage, shardCount: 2, settings: settings)
    }

    private func group(
        _ number: UInt64,
        shard: Int = 0,
        epoch: UInt64 = 0,
        isDurable: Bool = false,
        _ changes: [ArchiveChange]? = nil
    ) -> ArchiveRequest {
        .commit(
            ArchiveGroup(
                shard: shard,
                epoch: epoch,
                number: number,
                changes: changes ?? [message(number)],
                isDurable: isDurable
            )
        )
    }

    /// Performs requests, and returns the replies as text.
    private func perform(_ requests: [ArchiveRequest] = [], at now: Int64) -> [String] {
        writer.perform(requests, at: now).map { "\($0.shard) \($0.reply.text)" }
    }

    @Test("What has gathered is one transaction; each shard is told how far it is") func groups() {
        let requests = [
            group(1), group(2), group(1, shard: 1, isDurable: true), group(3),
        ]
        #expect(perform(requests, at: 0) == ["0 committed 3", "1 committed 1"])
        #expect(storage.number == 1 && storage.durableCount == 1)
        #expect(storage.serials == [1, 2, 1, 3])
        #expect(perform([group(4)], at: 0) == ["0 committed 4"])
        #expect(storage.durableCount == 1)
    }

    @Test("Sessions are written behind messages; those that cannot be wait, and hold up no message")
    func sessions() {
        let changes = [SessionChange.keep(session(1)), .remove(session(2).address)]
        let request = ArchiveRequest.sessions(changes, shard: 1)
        #expect(perform([request, group(1)], at: 0) == ["0 committed 1", "1 sessions written"])
        #expect(storage.sessions == changes && storage.number == 1)
        storage.keepsSessions = false
        #expect(perform([group(2), request], at: 100) == ["0 committed 2"])
        #expect(writer.hasUnwrittenSessions && writer.error != nil && writer.nextDue == nil)
        storage.keepsSessions = true
        #expect(perform([group(3)], at: 1_099) == ["0 committed 3"])
        #expect(perform(at: 1_100) == ["1 sessions written"])
        #expect(!writer.hasUnwrittenSessions && writer.error == nil && writer.counts.failures == 1)
        storage.outcomes = [.fails]
        #expect(perform([group(4), request], at: 2_000) == [], "messages come first")
        #expect(perform(at: 2_100) == ["0 committed 4", "1 sessions written"])
    }

    @Test("A failed transaction is repeated, with what has gathered meanwhile") func repeats() {
        storage.outcomes = [.fails, .fails]
        #expect(perform([group(1)], at: 0) == [])
        #expect(writer.nextDue == 100)
        // Not before its time, so that a failing disk is not hurried.
        #expect(perform([group(2)], at: 50) == [])
        #expect(perform(at: 100) == [])
        #expect(perform(at: 200) == ["0 committed 2"])
        #expect(storage.serials == [1, 2] && writer.nextDue == nil)
        #expect(writer.counts == (1, 2))
    }

    @Test("An error of a transaction that was performed is none") func unclear() {
        storage.outcomes = [.isUnclear]
        #expect(perform([group(1)], at: 0) == ["0 committed 1"])
        #expect(perform([group(2)], at: 100) == ["0 committed 2"])
        #expect(storage.serials == [1, 2])
    }

    @Test("Nothing is written before the outcome of the last transaction is known") func unknown() {
        storage.outcomes = [.isUnclear]
        storage.isReadable = false
        // The transaction fails while the file does not answer.
        #expect(perform([group(1)], at: 0) == [])
        #expect(perform([group(2)], at: 100) == [])
        #expect(storage.serials == [1])
        storage.isReadable = true
        #expect(perform(at: 200) == ["0 committed 1", "0 committed 2"])
        #expect(storage.serials == [1, 2])
    }

    @Test("After the time limit the groups are refused, and those of their epoch that follow")
    func refuses() {
        storage.outcomes = Array(repeating: .fails, count: 3)
        #expect(perform([group(1), group(1, shard: 1)], at: 0) == [])
        #expect(perform(at: 1_000) == ["0 failed 0", "1 failed 0"])
        #expect(writer.isRefusing)
        // Posted before the shard knew.
        #expect(perform([group(2)], at: 1_010) == [])
        // Posted behind it: refused at once.
        #expect(perform([group(3, epoch: 1)], at: 1_020) == ["0 failed 1"])
        #expect(perform(at: 1_100) == [])
        // The file can be written again, which is found out without a message.
        #expect(perform(at: 1_200) == [])
        #expect(!writer.isRefusing && storage.number == 1)
        #expect(perform([group(4, epoch: 2)], at: 1_210) == ["0 committed 4"])
        #expect(storage.serials == [4])
    }

    @Test("What was refused and turns out to be written is deleted") func reverts() {
        storage.outcomes = [.isUnclear]
        storage.isReadable = false
        #expect(perform([group(1)], at: 0) == [])
        #expect(perform(at: 1_000) == ["0 failed 0"])
        storage.isReadable = true
        #expect(perform(at: 1_100) == [])
        #expect(ScriptedStorage.serials(storage.reverted) == [1])
        #expect(perform([group(2, epoch: 1)], at: 1_200) == ["0 committed 2"])
    }

    @Test("Another file refuses what waits, and renews every stream") func replaces() throws {
        storage.outcomes = [.fails]
        #expect(perform([group(1)], at: 0) == [])
        let other = ScriptedStorage()
        let replies = try writer.replaceStorage(other).map { "\($0.shard) \($0.reply.text)" }
        #expect(replies == ["0 failed 0", "0 renewed", "1 renewed"])
        #expect(perform([group(2, epoch: 1)], at: 10) == ["0 committed 2"])
        #expect(other.serials == [2] && storage.serials == [])
    }

    @Test("A query reads what was posted ahead of it") func reads() {
        let query = ArchiveQuery(row: 1, HistoryQuery(), bytesMax: 10)
        let requests = [group(1), ArchiveRequest.read(query, ArchiveRead(), shard: 1, number: 5)]
        #expect(perform(requests, at: 0) == ["0 committed 1", "1 page 5 1"])
    }

    private let query = ArchiveQuery(row: 1, HistoryQuery(), bytesMax: 4_000)

    @Test("Reads wait while results use up the budget; those that are given up are not performed")
    func readBudget() throws {
        let budget = ArchiveReadBudget(byteCountMax: 10_000)
        let returnCount = Mutex(0)
        budget.setHandler { returnCount.withLock { $0 += 1 } }
        storage.textLength = 3_000
        let writer = try ArchiveWriter(storage, shardCount: 1, readBudget: budget)
        var held: [ArchiveRead?] = (0..<5).map { _ in ArchiveRead() }
        func post() -> [ArchiveWriter.Reply] {
            let requests = held.enumerated()
                .compactMap { number, read in
                    read.map { ArchiveRequest.read(query, $0, shard: 0, number: UInt64(number)) }
                }
            return writer.perform(requests, at: 0)
        }
        #expect(post().map(\.reply.text) == ["page 0 0", "page 1 0"])
        #expect(storage.readCount == 2 && !writer.reads.areReady && writer.reads.delayedCount == 1)
        #expect(6_000...10_000 ~= budget.byteCount && writer.read().isEmpty)
        held[2]?.cancel()
        #expect(returnCount.withLock { $0 } == 0)
        held[0] = nil
        #expect(returnCount.withLock { $0 } == 1)
        #expect(writer.read().map(\.reply.text) == ["page 2 0", "page 3 0"])
        #expect(storage.readCount == 3 && writer.reads.delayedCount == 2)
        held = []
        #expect(returnCount.withLock { $0 } == 2 && budget.byteCount == 0)
        #expect(writer.read().map(\.reply.text) == ["page 4 0"])
        #expect(budget.byteCount == 0 && !writer.reads.areReady)
    }

    @Test("Reads are performed in portions, and equal frames are in memory once") func portions() {
        storage.textLength = 1 << 20
        func address(_ reply: ArchiveWriter.Reply) -> UnsafeRawPointer? {
            guard case .page(let page?, _) = reply.reply else { return nil }
            return page.messages[0].envelope.frame.withUnsafeBytes { $0.baseAddress }
        }
        func read(_ number: UInt64) -> ArchiveRequest {
            .read(query, ArchiveRead(), shard: 0, number: number)
        }
        var replies = writer.perform((0..<6).map(read), at: 0)
        #expect(replies.count == 4 && writer.reads.areReady)
        replies += writer.read()
        #expect(replies.count == 6 && !writer.reads.areReady)
        #expect(Set(replies.map(address)).count == 1)
        writer.releaseFrames()
        replies += writer.perform([read(6)], at: 0)
        #expect(Set(replies.map(address)).count == 2)
    }
}

extension ArchiveReply {
    fileprivate var text: String {
        switch self {
        case .committed(let group): "committed \(group)"
        case .failed(let epoch): "failed \(epoch)"
        case .renewed: "renewed"
        case .sessionsWritten: "sessions written"
        case .page(let page, let number): "page \(number) \(page?.oldest ?? 0)"
        }
    }
}
