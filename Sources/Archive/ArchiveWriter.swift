package import Broker

/// Writes the changes of all shards to an ``ArchiveStorage``, and reads for them.
///
/// The requests collected while one transaction is written go together into the next one. A transaction that fails is
/// repeated for ``Settings/retryPeriod``; then its groups are refused. Nothing is confirmed, refused or rewritten
/// before it is known whether the last transaction was performed.
///
/// Confined to one thread at a time, without a clock.
package final class ArchiveWriter {
    /// The settings of a writer.
    package struct Settings: Sendable {
        /// How long a transaction that fails is repeated, in milliseconds.
        package var retryPeriod: Int64 = 5_000
        /// The time between two attempts, in milliseconds.
        package var retryPause: Int64 = 200
        /// The time between two attempts to write sessions, in milliseconds.
        package var sessionRetryPause: Int64 = 1_000

        /// Creates the defaults.
        package init() {}
    }

    /// A reply, and the shard that gets it.
    package typealias Reply = (shard: Int, reply: ArchiveReply)

    private var storage: any ArchiveStorage
    private let settings: Settings
    /// The waiting reads.
    private(set) var reads: PendingReads
    /// The number of failures of each shard; groups of earlier epochs are dropped.
    private var epochs: [UInt64]
    /// The groups that are not confirmed.
    private var waiting: [ArchiveGroup] = []
    /// The number of the last transaction that is known to be performed.
    private var last: UInt64
    /// The changes of a transaction that may have been performed.
    private var attempted: (changes: [ArchiveChange], groupCount: Int)?
    /// When the attempts began to fail; `nil` while they succeed.
    private var failingSince: Int64?
    private var nextAttempt: Int64 = 0
    /// The sessions to write; at most one portion of each shard.
    private var sessions: [(shard: Int, changes: [SessionChange])] = []
    private var nextSessionAttempt = Int64.min
    private var sessionError: (any Error)?
    /// Whether new groups are refused without an attempt.
    package private(set) var isRefusing = false
    /// The number of transactions, and of failed attempts.
    package private(set) var counts = (transactions: 0, failures: 0)
    /// The last error; `nil` after a success.
    package var error: (any Error)? { commitError ?? sessionError }
    private var commitError: (any Error)?
    /// The error of a read of the last portion; `nil` for none.
    package var readError: (any Error)? { reads.error }

    /// Creates a writer that has written nothing; throws the storage's error.
    package init(
        _ storage: any ArchiveStorage,
        shardCount: Int,
        settings: Settings = Settings(),
        readBudget: ArchiveReadBudget = ArchiveReadBudget()
    ) throws {
        self.storage = storage
        self.settings = settings
        reads = PendingReads(readBudget)
        epochs = Array(repeating: 0, count: shardCount)
        last = try storage.lastTransaction()
    }

    /// When ``perform(_:at:)`` has to be called even without a request; `nil` for never.
    package var nextDue: Int64? { failingSince == nil ? nil : nextAttempt }

    /// Processes requests, and attempts to write if an attempt is due; returns the replies, in order.
    ///
    /// `now` is in milliseconds of a steady clock.
    package func perform(_ requests: [ArchiveRequest], at now: Int64) -> [Reply] {
        var replies: [Reply] = []
        for case .commit(let group) in requests where group.epoch == epochs[group.shard] {
            waiting.append(group)
        }
        write(at: now, &replies)
        for case .sessions(let changes, let shard) in requests { sessions.append((shard, changes)) }
        if failingSince == nil { writeSessions(at: now, &replies) }
        // A query reads what was committed before it.
        reads.append(requests)
        reads.perform(by: storage, &replies)
        return replies
    }

    /// Performs the next portion of the waiting reads, and returns the replies, in order.
    package func read() -> [Reply] {
        var replies: [Reply] = []
        reads.perform(by: storage, &replies)
        return replies
    }

    /// Releases the envelopes that reads share.
    func releaseFrames() { reads.releaseFrames() }

    /// Continues with another storage, and refuses everything that is not confirmed.
    ///
    /// - Parameter storage: The storage.
    /// - Returns: The replies: every stream needs another ID.
    /// - Throws: The storage's error; then nothing has changed.
    package func replaceStorage(_ storage: any ArchiveStorage) throws -> [Reply] {
        last = try storage.lastTransaction()
        self.storage = storage
        var replies: [Reply] = []
        attempted = nil
        refuse(&replies)
        (failingSince, commitError, isRefusing) = (nil, nil, false)
        return replies + epochs.indices.map { ($0, .renewed) }
    }

    private func write(at now: Int64, _ replies: inout [Reply]) {
        if isRefusing { refuse(&replies) }
        guard !waiting.isEmpty || failingSince != nil else { return }
        guard failingSince == nil || now >= nextAttempt else { return }
        do {
            try resolve(&replies)
            repeat {
                let groups = waiting.prefix(nextGroupCount)
                guard !groups.isEmpty || isRefusing else { break }
                let changes = groups.flatMap(\.changes)
                attempted = (changes, groups.count)
                try storage.perform(
                    changes,
                    number: last + 1,
                    isDurable: groups.contains(where: \.isDurable)
                )
                confirm(&replies)
                isRefusing = false
            } while !waiting.isEmpty
            (failingSince, commitError, isRefusing) = (nil, nil, false)
        } catch {
            commitError = error
            counts.failures += 1
            let since = failingSince ?? now
            failingSince = since
            nextAttempt = now + settings.retryPause
            // For example a full disk: the transaction was certainly not performed.
            try? resolve(&replies)
            if now - since >= settings.retryPeriod { refuse(&replies) }
        }
    }

    /// The number of waiting groups for the next transaction; a storage checks its budget between two.
    private var nextGroupCount: Int {
        var byteCount = 0
        let end = waiting.firstIndex { group in
            defer { byteCount += group.byteCount }
            return byteCount >= Self.transactionBytesMax
        }
        return end ?? waiting.count
    }

    /// The size of messages after which a transaction includes no further group, in bytes.
    private static var transactionBytesMax: Int { 1 << 20 }

    /// Whether sessions could not be written, so that ``perform(_:at:)`` has to be called regularly.
    package var hasUnwrittenSessions: Bool { !sessions.isEmpty }

    /// Writes sessions after the messages; those that cannot be written wait, as do their shards.
    private func writeSessions(at now: Int64, _ replies: inout [Reply]) {
        guard !sessions.isEmpty, now >= nextSessionAttempt else { return }
        do {
            try storage.write(sessions.flatMap(\.changes))
            replies += sessions.map { ($0.shard, .sessionsWritten) }
            (sessions, sessionError) = ([], nil)
        } catch {
            sessionError = error
            counts.failures += 1
            nextSessionAttempt = now + settings.sessionRetryPause
        }
    }

    /// Finds out whether the last attempt was performed.
    private func resolve(_ replies: inout [Reply]) throws {
        guard let attempt = attempted else { return }
        if try storage.lastTransaction() > last {
            // Refused meanwhile: no client has received the messages, and others will have their serials.
            if attempt.groupCount == 0 { try storage.revert(attempt.changes) }
            confirm(&replies)
        }
        attempted = nil
    }

    /// Confirms the groups of the attempt.
    private func confirm(_ replies: inout [Reply]) {
        last += 1
        counts.transactions += 1
        var numbers: [Int: UInt64] = [:]
        for group in waiting.prefix(attempted?.groupCount ?? 0) {
            numbers[group.shard] = group.number
        }
        waiting.removeFirst(attempted?.groupCount ?? 0)
        attempted = nil
        replies += numbers.sorted { $0.key < $1.key }
            .map { ($0.key, .committed(group: $0.value)) }
    }

    /// Refuses the waiting groups, and groups that their shards post before they know of the failure.
    private func refuse(_ replies: inout [Reply]) {
        isRefusing = true
        for shard in Set(waiting.map(\.shard)).sorted() {
            replies.append((shard, .failed(epoch: epochs[shard])))
            epochs[shard] += 1
        }
        waiting = []
        attempted?.groupCount = 0
    }
}

extension ArchiveGroup {
    /// The size of the messages, in bytes.
    fileprivate var byteCount: Int {
        changes.reduce(0) { count, change in
            guard case .message(_, let message, _) = change else { return count }
            return count + message.envelope.byteCount
        }
    }
}
