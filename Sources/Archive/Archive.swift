package import Broker
internal import Dispatch
package import Logging
internal import Primitives
package import PusherProtocol
internal import SQLite
internal import Synchronization

/// The archive of a broker: one file, and one thread that writes to it.
///
/// Shards post what they may release only after it is written (``ArchiveRequest``), and get replies as messages. While
/// one transaction is written, the next one is collected.
package final class Archive: MessageArchive {
    /// The settings of an archive.
    package struct Settings: Sendable {
        /// The file.
        package var file: ArchiveFile.Settings
        /// The delays of repeated attempts.
        package var writer = ArchiveWriter.Settings()
        /// Called on the archive's thread when a limit was reached.
        package var limitMet: @Sendable (Limit) -> Void = { _ in }
        /// The maximum size of data that is read and not yet queued for its client, in bytes.
        package var readBytesMax = Int.max
        /// The time between two searches for rows to delete, in milliseconds.
        package var expiryPause: Int64 = 1_000

        /// Creates settings.
        package init(_ file: ArchiveFile.Settings) { self.file = file }
    }

    /// The counters and gauges of an archive.
    package struct Reading: Sendable {
        /// The number of transactions.
        package var transactions = 0
        /// The number of attempts to write that have failed.
        package var failures = 0
        /// The size of the messages that wait for the file, in bytes.
        package var unstoredBytes = 0
        /// The size of data that was read and is not yet queued for its client, in bytes.
        package var readBytes = 0
        /// The size of the file's used pages, in bytes.
        package var fileBytes = 0
        /// The number of sessions that could not be read at the start.
        package var damagedSessions = 0
        /// The number of damaged rows that were refused, and of places where messages were missing.
        package var damagedRows = 0
        /// The number of times that the calendar was found to be set.
        package var clockSteps = 0

        /// Creates the reading of an archive that has written nothing.
        package init() {}
    }

    /// State that only the queue accesses.
    private struct Confined {
        var file: ArchiveFile?
        var writer: ArchiveWriter?
        var lock: DatabaseLock?
        var fileLock: DatabaseFileLock?
        var nextExpiry: Int64 = 0
        var isTimerSet = false
        var isExpiryScheduled = false
        var wasFailing = false
        /// The channels whose damage was logged.
        var damaged: Set<String> = []
        var isReading = false
        var delayedReadCount = 0
    }

    private struct Inbox {
        var requests: [ArchiveRequest] = []
        var isScheduled = false
    }

    private let settings: Settings
    private let shardCount: Int
    private let log: Logger
    private let send: @Sendable (Int, ArchiveReply) -> Void
    private let queue = DispatchQueue(label: "fanfare.archive", qos: .userInitiated)
    // SAFETY: accessed only by blocks on `queue`, which is serial.
    private nonisolated(unsafe) var confined = Confined()
    private let inbox = Mutex(Inbox())
    private let unstored = Atomic(0)
    private let readBudget: ArchiveReadBudget
    private let isRefusing = Atomic(false)
    private let isGone = Atomic(false)
    private let tally = Mutex(Reading())

    /// Creates an archive that is not open.
    ///
    /// The log receives failures, and reports of files that were set aside. The archive's thread calls `send` to send a
    /// reply to a shard.
    package init(
        _ settings: Settings,
        shardCount: Int,
        log: Logger,
        send: @escaping @Sendable (Int, ArchiveReply) -> Void
    ) {
        self.settings = settings
        self.shardCount = shardCount
        self.log = log
        self.send = send
        readBudget = ArchiveReadBudget(byteCountMax: settings.readBytesMax)
        readBudget.setHandler { [weak self] in
            guard let self else { return }
            queue.async { self.readMore() }
        }
    }

    // MARK: - Opening and closing

    /// Opens the file, and returns its contents; a malformed file is set aside and replaced by a new one.
    ///
    /// - Throws: ``ArchiveError``: another broker uses the file, or it cannot be opened.
    package func open() async throws(ArchiveError) -> ArchiveContents {
        let result: Result<ArchiveContents, ArchiveError> = await onQueue { archive in
            do throws(ArchiveError) {
                return .success(try archive.openFile())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func openFile() throws(ArchiveError) -> ArchiveContents {
        do {
            confined.lock = try DatabaseLock(database: settings.file.path)
            confined.fileLock = try DatabaseFileLock(path: settings.file.path)
            let (file, contents) = try openOrRenew()
            confined.writer = try ArchiveWriter(
                file,
                shardCount: shardCount,
                settings: settings.writer,
                readBudget: readBudget
            )
            confined.file = file
            tally.withLock { $0.damagedSessions = contents.sessions.damagedCount }
            if file.mayLackEnd {
                log.warning(
                    """
                    the archive may lack its last messages, or is not the file of the last run: its streams continue \
                    under other IDs, and clients are notified of a gap
                    """,
                    metadata: path
                )
            }
            reportClockStep(of: file)
            reportDamage(of: file)
            setTimer()
            return contents
        } catch let error as ArchiveError {
            throw error
        } catch let error as DatabaseLockError {
            if case .held = error { throw .inUse("\(error)") }
            throw .failed("\(error)")
        } catch {
            throw .failed("\(settings.file.path) cannot be opened: \(error)")
        }
    }

    private func openOrRenew() throws -> (ArchiveFile, ArchiveContents) {
        do {
            let file = try ArchiveFile(settings.file)
            // A page that cannot be read is found here at the latest.
            return (file, try file.contents(at: file.time))
        } catch let error as SQLiteError where error.isDamage {
            confined.fileLock = nil
            let kept = try SetAside.move(settings.file.path, at: unixTime)
            log.error(
                "the archive's file is malformed: it is set aside, and a new one is created",
                metadata: path.merging(["reason": "\(error)", "kept": "\(kept)"]) { $1 }
            )
            confined.fileLock = try DatabaseFileLock(path: settings.file.path)
            let file = try ArchiveFile(settings.file)
            return (file, try file.contents(at: file.time))
        }
    }

    /// Writes everything that was posted, and closes the file; called when no shard posts any more.
    ///
    /// - Parameter sessions: The sessions of stock clients with a token; `nil` if they were never read.
    package func close(keeping sessions: StoredSessions?) async {
        await onQueue { archive in
            archive.perform(archive.inbox.withLock { exchange(&$0.requests, with: []) })
            guard let file = archive.confined.file else { return }
            (archive.confined.file, archive.confined.writer) = (nil, nil)
            do { try file.close(keeping: sessions) } catch {
                archive.log.error("the archive cannot be closed", metadata: ["reason": "\(error)"])
            }
            (archive.confined.fileLock, archive.confined.lock) = (nil, nil)
        }
    }

    private func onQueue<Value: Sendable>(
        _ body: @escaping @Sendable (Archive) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body(self)) }
        }
    }

    private var path: Logger.Metadata { ["path": "\(settings.file.path)"] }

    private var unixTime: Int64 { Clock.unixMilliseconds }

    // MARK: - Requests

    package var isFailing: Bool { isRefusing.load(ordering: .relaxed) || isMisplaced }

    package var isMisplaced: Bool { isGone.load(ordering: .relaxed) }

    package var unstoredByteCount: Int { unstored.load(ordering: .relaxed) }

    package func addUnstored(_ byteCount: Int) { unstored.add(byteCount, ordering: .relaxed) }

    package func post(_ request: ArchiveRequest) {
        let isFirst = inbox.withLock { inbox in
            inbox.requests.append(request)
            return !exchange(&inbox.isScheduled, with: true)
        }
        if isFirst { queue.async { self.run() } }
    }

    /// The counters and gauges.
    package var reading: Reading {
        var reading = tally.withLock { $0 }
        reading.unstoredBytes = unstoredByteCount
        reading.readBytes = readBudget.byteCount
        return reading
    }

    // MARK: - On the queue

    private func run() {
        let requests = inbox.withLock { inbox in
            if inbox.requests.isEmpty { inbox.isScheduled = false }
            return exchange(&inbox.requests, with: [])
        }
        guard !requests.isEmpty else { return }
        perform(requests)
        // After a due timer, because under load there is always a request.
        queue.async { self.run() }
    }

    private func perform(_ requests: [ArchiveRequest]) {
        guard let writer = confined.writer else { return }
        let replies = writer.perform(requests, at: Clock.milliseconds)
        isRefusing.store(writer.isRefusing, ordering: .relaxed)
        for (shard, reply) in replies { send(shard, reply) }
        if confined.file?.takeBudgetHit() == true { settings.limitMet(.databaseBytes) }
        report(writer)
        if let file = confined.file {
            reportClockStep(of: file)
            if isMisplaced || writer.error is ArchiveError { checkPlace(of: file) }
        }
        reportDamage(writer)
        tally.withLock { reading in
            (reading.transactions, reading.failures) = writer.counts
        }
        scheduleReads(writer)
        setTimer()
    }

    /// Performs the next portion of the waiting reads.
    private func readMore() {
        guard let writer = confined.writer else { return }
        for (shard, reply) in writer.read() { send(shard, reply) }
        reportDamage(writer)
        scheduleReads(writer)
    }

    /// Logs damaged rows, and replaces a file that is malformed.
    private func reportDamage(_ writer: ArchiveWriter) {
        if let file = confined.file { reportDamage(of: file) }
        let isDamaged = (writer.error as? SQLiteError)?.isDamage == true
        if isDamaged || (writer.readError as? SQLiteError)?.isMalformed == true { renew(writer) }
    }

    /// Schedules the next portion after requests posted meanwhile.
    private func scheduleReads(_ writer: ArchiveWriter) {
        let delayedCount = writer.reads.delayedCount
        if exchange(&confined.delayedReadCount, with: delayedCount) != delayedCount {
            settings.limitMet(.archiveReadBytes)
        }
        guard writer.reads.areReady, !confined.isReading else { return }
        confined.isReading = true
        queue.async {
            self.confined.isReading = false
            self.readMore()
        }
    }

    /// Sets aside a file that has turned out to be malformed, and creates a new one.
    private func renew(_ writer: ArchiveWriter) {
        do {
            // The file at the path is not this file.
            guard !isMisplaced else { return }
            confined.fileLock = nil
            let kept = try SetAside.move(settings.file.path, at: unixTime)
            confined.fileLock = try DatabaseFileLock(path: settings.file.path)
            let file = try ArchiveFile(settings.file)
            let replies = try writer.replaceStorage(file)
            confined.file = file
            isRefusing.store(false, ordering: .relaxed)
            log.error(
                "the archive's file is malformed: it is set aside, and a new one is created",
                metadata: path.merging(["kept": "\(kept)"]) { $1 }
            )
            for (shard, reply) in replies { send(shard, reply) }
        } catch {
            log.error(
                "the archive's file is malformed, and cannot be replaced by a new one",
                metadata: path.merging(["reason": "\(error)"]) { $1 }
            )
        }
    }

    /// Refuses new messages while the file is not at its path, because the next start would not find them.
    private func checkPlace(of file: ArchiveFile) {
        let isMisplaced = !file.isInPlace
        guard isGone.exchange(isMisplaced, ordering: .relaxed) != isMisplaced else { return }
        if isMisplaced {
            log.error(
                "the archive is not written: \(ArchiveError.misplaced(settings.file.path))",
                metadata: path
            )
            tally.withLock { $0.failures += 1 }
        } else {
            log.notice("the archive is at its path again", metadata: path)
        }
    }

    /// Logs damage, once for each channel.
    private func reportDamage(of file: ArchiveFile) {
        let damage = file.takeDamage()
        guard damage.rowCount > 0 else { return }
        tally.withLock { $0.damagedRows += damage.rowCount }
        let new = damage.streams.filter { !confined.damaged.contains($0) }
        guard !new.isEmpty, confined.damaged.count < 1_000 else { return }
        confined.damaged.formUnion(new)
        log.error(
            "rows of the archive are damaged: they are refused, and clients that need them are notified of a gap",
            metadata: path.merging([
                "rows": "\(damage.rowCount)", "channels": "\(new.joined(separator: ", "))",
            ]) { $1 }
        )
    }

    private func reportClockStep(of file: ArchiveFile) {
        guard let step = file.takeClockStep() else { return }
        tally.withLock { $0.clockSteps += 1 }
        log.warning(
            "the system clock was set: ages are counted by the monotonic clock",
            metadata: [
                "expected_ms": "\(step.expected)", "calendar_ms": "\(step.actual)",
                "skew_ms": "\(step.actual &- step.expected)",
            ]
        )
    }

    private func report(_ writer: ArchiveWriter) {
        let isFailing = writer.error != nil
        guard isFailing != confined.wasFailing else { return }
        confined.wasFailing = isFailing
        if let error = writer.error {
            log.error(
                "the archive cannot be written",
                metadata: path.merging(["reason": "\(error)"]) { $1 }
            )
        } else {
            log.notice("the archive can be written again", metadata: path)
        }
    }

    /// Wakes the queue for the next attempt, or for rows to delete.
    private func setTimer() {
        guard let writer = confined.writer, !confined.isTimerSet else { return }
        confined.isTimerSet = true
        let now = Clock.milliseconds
        let due = min(writer.nextDue ?? .max, now + settings.expiryPause)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(max(1, due - now)))) {
            self.confined.isTimerSet = false
            self.timerFired()
        }
    }

    /// Continues an expiry that has found more than one portion, unless that is already scheduled.
    private func scheduleExpiry() {
        guard !confined.isExpiryScheduled else { return }
        confined.isExpiryScheduled = true
        queue.async {
            self.confined.isExpiryScheduled = false
            self.timerFired()
        }
    }

    private func timerFired() {
        guard let file = confined.file, let writer = confined.writer else { return }
        if writer.nextDue != nil { return perform([]) }
        checkPlace(of: file)
        file.updateClock()
        reportClockStep(of: file)
        let now = Clock.milliseconds
        if now >= confined.nextExpiry {
            writer.releaseFrames()
            // Requests that have arrived meanwhile have precedence.
            let size = (try? file.usedByteCount()) ?? 0
            if file.exceedsBudget(size) { settings.limitMet(.databaseBytes) }
            let hasMore = removeExpired(from: file, writer)
            confined.nextExpiry = hasMore ? now : now + settings.expiryPause
            tally.withLock { $0.fileBytes = size }
            if hasMore { scheduleExpiry() }
        }
        if writer.hasUnwrittenSessions { return perform([]) }
        setTimer()
    }

    private func removeExpired(from file: ArchiveFile, _ writer: ArchiveWriter) -> Bool {
        do { return try file.removeExpired(at: file.time) } catch {
            if (error as? SQLiteError)?.isMalformed == true { renew(writer) }
            return false
        }
    }
}
