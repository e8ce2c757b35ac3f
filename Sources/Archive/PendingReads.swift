import Broker
import Primitives

/// The waiting reads of all shards, in order.
///
/// A read waits while the results of others use up the budget; one that is cancelled meanwhile is not performed.
/// Transactions are executed between portions of reads.
struct PendingReads {
    private struct Entry {
        let query: ArchiveQuery
        /// `nil` once it is performed; the queue may keep the entry longer, and the read keeps its memory charged.
        var read: ArchiveRead?
        let shard: Int
        let number: UInt64
        /// Whether the read has found no room.
        var hasWaited = false
    }

    /// The size of the results after which transactions are executed, in bytes.
    private static var portionMax: Int { 4 << 20 }
    /// The minimum that a read counts for; one without a result takes time, too.
    private static var portionMin: Int { 4 << 10 }

    private let budget: ArchiveReadBudget
    private var line = Queue<Entry>()
    private var recent = RecentEnvelopes()
    private var hasRoom = true
    /// The number of reads that had to wait for room.
    private(set) var delayedCount = 0
    /// The error if the last portion lacks a page; `nil` if it does not.
    private(set) var error: (any Error)?

    init(_ budget: ArchiveReadBudget) { self.budget = budget }

    /// Whether there are reads that are not known to lack room.
    var areReady: Bool { hasRoom && !line.isEmpty }

    mutating func append(_ requests: [ArchiveRequest]) {
        for case .read(let query, let read, let shard, let number) in requests {
            line.append(Entry(query: query, read: read, shard: shard, number: number))
        }
    }

    /// Performs a portion of the reads.
    mutating func perform(by storage: any ArchiveStorage, _ replies: inout [ArchiveWriter.Reply]) {
        (hasRoom, error) = (true, nil)
        var rest = Self.portionMax
        while rest > 0, let next = line.first {
            var page: ArchivePage?
            if let read = next.read, read.isWanted {
                guard read.charge(next.query.bytesMax, to: budget) else { return wait() }
                do {
                    var found = try storage.messages(next.query)
                    recent.share(&found, of: next.query.row)
                    page = found
                } catch { self.error = error }
                let byteCount = page?.memoryByteCount ?? 0
                read.resize(to: byteCount)
                rest -= byteCount
            }
            rest -= Self.portionMin
            line[0].read = nil
            line.removeFirst()
            replies.append((next.shard, .page(page, number: next.number)))
        }
    }

    /// Releases the envelopes that reads share; called about once a second, so that purged messages do not stay.
    mutating func releaseFrames() { recent.removeAll() }

    private mutating func wait() {
        hasRoom = false
        guard !line[0].hasWaited else { return }
        line[0].hasWaited = true
        delayedCount += 1
    }
}
