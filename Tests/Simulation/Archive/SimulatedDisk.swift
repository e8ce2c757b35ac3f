import Archive
import Broker
import PusherProtocol
import TestRandom

/// A disk in memory: a killed process keeps what it has written, a loss of power takes any part of the end that was not
/// synced.
final class SimulatedDisk: ArchiveStorage {
    /// What happens to a transaction.
    enum Condition {
        case works
        /// It fails, and nothing is written.
        case full
        /// It is written, and reported as failed.
        case unclear
        /// It is written and reported as failed, and the file does not answer.
        case silent
    }

    struct Failure: Error {}

    private struct Row {
        var stream: StoredStream
        var life: Int
        var messages: [StoredMessage] = []
        var keys: [(serial: UInt64, key: StoredKey)] = []
    }

    private struct Content {
        var rows: [Int64: Row] = [:]
        var transaction: UInt64 = 0
        var life = 1
        var nextRow: Int64 = 1
        var seeds = StreamSeeds(from: 1)
        var sessions: [SessionAddress: StoredSession] = [:]
    }

    private var content = Content()
    /// The contents that a loss of power may leave: the last synced one, and those behind it.
    private var possible = [Content()]
    private let syncsAlways: Bool
    private let variant: ArchiveVariant?
    /// What happens to the next transactions.
    var condition = Condition.works

    init(syncsAlways: Bool, _ variant: ArchiveVariant?) {
        self.syncsAlways = syncsAlways
        self.variant = variant
    }

    // MARK: - Ends

    /// A loss of power.
    ///
    /// - Returns: Whether something that was written is missing.
    func losePower(_ random: inout SeededRandom) -> Bool {
        let written = content.transaction
        content = possible[Int(random.next() % UInt64(possible.count))]
        let isShorter = content.transaction < written
        // The end may be missing: whoever had an ID then gets another one.
        if !syncsAlways { content.life += 1 }
        possible = [content]
        return isShorter
    }

    /// What the next run finds.
    func contents() -> ArchiveContents {
        var contents = ArchiveContents()
        contents.nextRow = content.nextRow
        contents.seeds = StreamSeeds(content.seeds.values, life: Int64(content.life))
        contents.sessions = StoredSessions(Array(content.sessions.values))
        for row in content.rows.values.sorted(by: { $0.stream.row < $1.stream.row }) {
            var stream = row.stream
            if variant == .serialReused, stream.lastSerial > 0 { stream.lastSerial -= 1 }
            if variant == .serialSkipped { stream.lastSerial += 1 }
            contents.streams.append((stream, row.life == content.life || variant == .oldID))
            guard variant != .forgottenKey else { continue }
            contents.keys += row.keys.map { (stream.row, $0.serial, $0.key) }
        }
        return contents
    }

    // MARK: - Transactions

    func lastTransaction() throws -> UInt64 {
        guard condition != .silent else { throw Failure() }
        return content.transaction
    }

    func perform(_ changes: [ArchiveChange], number: UInt64, isDurable: Bool) throws {
        guard condition != .full else { throw Failure() }
        for change in changes { apply(change) }
        content.transaction = number
        if syncsAlways || isDurable, variant != .unsynced { possible = [] }
        possible.append(content)
        guard condition == .works else { throw Failure() }
    }

    func write(_ sessions: [SessionChange]) throws {
        guard condition != .full else { throw Failure() }
        for change in sessions {
            switch change {
            case .keep(let session): content.sessions[session.address] = session
            case .remove(let address): content.sessions[address] = nil
            }
        }
        if syncsAlways { possible = [] }
        possible.append(content)
        guard condition == .works else { throw Failure() }
    }

    private func apply(_ change: ArchiveChange) {
        switch change {
        case .open(let stream):
            let twin = content.rows.values.first {
                $0.stream.address == stream.address && $0.stream.row != stream.row
            }
            if let twin { forget(twin.stream.row) }
            var row = content.rows[stream.row] ?? Row(stream: stream, life: content.life)
            (row.stream.id, row.stream.limits, row.life) = (stream.id, stream.limits, content.life)
            content.rows[stream.row] = row
            content.nextRow = max(content.nextRow, stream.row + 1)
        case .forget(let row): forget(row)
        case .message(let row, let message, let key):
            content.rows[row]?.messages.append(message)
            content.rows[row]?.stream.lastSerial = message.serial
            if let key { content.rows[row]?.keys.append((message.serial, key)) }
        }
    }

    private func forget(_ number: Int64) {
        guard let row = content.rows.removeValue(forKey: number) else { return }
        content.seeds.forget(number, of: row.stream.address)
    }

    func revert(_ changes: [ArchiveChange]) throws {
        guard condition == .works else { throw Failure() }
        for case .message(let number, let message, _) in changes {
            guard var row = content.rows[number] else { continue }
            row.messages.removeAll { $0.serial >= message.serial }
            row.keys.removeAll { $0.serial >= message.serial }
            row.stream.lastSerial = min(row.stream.lastSerial, message.serial - 1)
            content.rows[number] = row
        }
        possible.append(content)
    }

    // MARK: - Queries

    func messages(_ query: ArchiveQuery) throws -> ArchivePage {
        guard condition != .silent else { throw Failure() }
        let all = content.rows[query.row]?.messages ?? []
        let page = query.page
        var found = all.filter {
            $0.serial > page.after ?? 0 && $0.serial < page.before ?? .max
                && $0.time >= page.since ?? .min && $0.time <= page.until ?? .max
        }
        if variant == .pageWithoutFirst, !found.isEmpty { found.removeFirst() }
        if variant == .pageWithoutLast, !found.isEmpty { found.removeLast() }
        if page.isNewestFirst { found.reverse() }
        return ArchivePage(
            messages: Array(found.prefix(page.limit)),
            oldest: all.first?.serial ?? 0,
            hasMore: found.count > page.limit
        )
    }

    func removeExpired(at now: Int64) throws -> Bool { false }
}
