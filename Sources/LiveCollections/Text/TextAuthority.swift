/// Who orders the operations of all: a backend's part in a shared text, as a value.
///
/// It takes batches one at a time, gives each a place in a log, and hands out what somebody missed. When names of
/// deleted scalars pile up it begins a new *epoch* without them. A batch of an older epoch is refused: its writer
/// loads the text, finds the places of its edits, and sends them anew. So nothing has to be kept for those who
/// were away for long, and nothing that they typed is lost.
///
/// The backend stores the entries that ``commit(_:)`` and the others return before it tells anybody of them, and
/// publishes them in that order.
public struct TextAuthority: Sendable {
    /// The most entries of an epoch; more begin a new one.
    public static let entriesMax = 5_000
    /// The most entries that ``recovery(after:epoch:)`` hands out at once.
    public static let recoveryLengthMax = 200
    /// For how many epochs it is known what was taken of a replica that has gone quiet.
    ///
    /// Who comes back later makes anew whatever it does not find in the text.
    static let memory: UInt64 = 8
    /// The fewest names of deleted scalars for which a new epoch is begun.
    static let deletedCountMin = 2_000

    /// The text.
    public private(set) var document: TextDocument
    /// The place of the last entry.
    public private(set) var serial: UInt64
    /// The entries of this epoch, without gaps up to ``serial``.
    private var log: [TextEntry] = []
    /// The last epoch in which a replica edited.
    private var lastActivity: [ReplicaID: UInt64]
    var bridge: WholeTextBridge

    /// Begins, or goes on where a backend stopped.
    ///
    /// - Parameters:
    ///   - replica: Who edits on behalf of old clients; a fresh name each time.
    ///   - snapshot: The text as it was stored.
    ///   - log: The entries that were stored since, in order.
    ///   - limits: What the text may take.
    /// - Throws: ``TextRefusal`` when snapshot and log do not belong together.
    public init(
        replica: ReplicaID,
        from snapshot: TextSnapshot = .empty,
        log: [TextEntry] = [],
        limits: TextLimits = TextLimits()
    ) throws(TextRefusal) {
        document = TextDocument(replica: replica, from: snapshot, limits: limits)
        serial = snapshot.serial
        lastActivity = snapshot.version.mapValues { _ in snapshot.epoch }
        bridge = WholeTextBridge()
        for entry in log where entry.serial > serial {
            guard entry.serial == serial + 1, case .batch(let batch) = entry.change else {
                throw .invalid(reason: "entry \(entry.serial) does not follow entry \(serial)")
            }
            _ = try commit(batch)
        }
        bridge.begin(with: document)
    }

    /// The text as it is now.
    public var snapshot: TextSnapshot { document.snapshot(serial: serial) }

    // MARK: Taking

    /// Takes what a replica did.
    ///
    /// - Parameter batch: The operations; those that were taken before are ignored.
    /// - Returns: What to store and to publish, in this order; nothing when all was known.
    /// - Throws: ``TextRefusal``; then nothing was taken.
    public mutating func commit(_ batch: TextBatch) throws(TextRefusal) -> [TextEntry] {
        guard batch.epoch == document.epoch else {
            throw .stale(
                reason: "the text is in epoch \(document.epoch), and the batch is of \(batch.epoch)"
            )
        }
        let new = batch.after(document.version[batch.replica, default: 0])
        guard !new.operations.isEmpty else { return [] }
        try check(new)
        do throws(TextError) {
            try document.apply(new)
        } catch {
            // Checked above; whoever writes a new rule must write it there as well.
            throw .invalid(reason: error.description)
        }
        return append(new)
    }

    /// Checks all operations before the first is applied: a batch is taken whole or not at all.
    private func check(_ batch: TextBatch) throws(TextRefusal) {
        let known = document.version[batch.replica, default: 0]
        guard batch.number == known + 1 else {
            throw .stale(
                reason: "the batch begins with number \(batch.number), and \(known + 1) is next"
            )
        }
        var checks = BatchChecks(of: batch, on: document)
        for operation in batch.operations { try checks.check(operation) }
        let limit = document.limits.length
        guard checks.length <= limit || checks.insertedCount == 0 else {
            let error = TextError.tooLong(length: checks.length, limit: limit)
            throw .invalid(reason: error.description)
        }
    }

    private mutating func append(_ batch: TextBatch) -> [TextEntry] {
        lastActivity[batch.replica] = document.epoch
        return batch.parts().map { part in
            serial += 1
            let entry = TextEntry(serial: serial, change: .batch(part))
            log.append(entry)
            return entry
        }
    }

    // MARK: Telling

    /// What somebody has to be told who knows the log up to an entry.
    ///
    /// - Parameters:
    ///   - known: The place of the last entry that is known, with all before it.
    ///   - epoch: The epoch of what is known.
    /// - Returns: The entries that follow, or the text if the log does not go back that far.
    public func recovery(after known: UInt64, epoch: UInt64) -> TextRecovery {
        guard epoch == document.epoch, known <= serial, serial - known <= UInt64(log.count) else {
            return .snapshot(snapshot)
        }
        let missed = log.suffix(Int(serial - known))
        return .entries(Array(missed.prefix(Self.recoveryLengthMax)), serial: serial)
    }

    // MARK: Epochs

    /// Whether it is time for a new epoch.
    public var isCompactionDue: Bool {
        log.count >= Self.entriesMax
            || document.deletedCount >= max(Self.deletedCountMin, 2 * document.scalarCount)
    }

    /// Begins a new epoch without the names of what is deleted.
    ///
    /// Store the ``snapshot`` in place of all that was stored before, and publish the entry.
    ///
    /// - Returns: The entry that tells of it.
    public mutating func compact() -> TextEntry {
        let epoch = document.epoch
        lastActivity = lastActivity.filter { $0.value + Self.memory >= epoch }
        let next = document.compacted { lastActivity[$0] != nil }
        document = TextDocument(replica: document.replica, from: next, limits: document.limits)
        log = []
        serial += 1
        return TextEntry(serial: serial, change: .compacted(epoch: next.epoch))
    }

    // MARK: Old clients

    /// Takes the whole text of a client that knows nothing of operations.
    ///
    /// What the client changed is found by comparing with what it may have had before its screen; what others
    /// typed meanwhile stays.
    ///
    /// - Parameters:
    ///   - text: The text that the client shows.
    ///   - device: What the client calls itself.
    ///   - now: The time since some fixed moment.
    /// - Returns: What to store and to publish; nothing when the client changed nothing.
    /// - Throws: ``TextRefusal/invalid(reason:)`` when the text would become too long.
    public mutating func takeWholeText(
        _ text: String,
        from device: String,
        at now: Duration
    ) throws(TextRefusal) -> [TextEntry] {
        guard text.unicodeScalars.count <= document.limits.length else {
            let length = text.unicodeScalars.count
            let error = TextError.tooLong(length: length, limit: document.limits.length)
            throw .invalid(reason: error.description)
        }
        let edit = bridge.edit(leadingTo: text, from: device, at: now, in: document)
        do throws(TextError) {
            let batch = try document.replace(edit.deleted, after: edit.left, with: edit.inserted)
            bridge.posted(text, from: device, at: now, by: edit, as: batch)
            return batch.operations.isEmpty ? [] : append(batch)
        } catch {
            throw .invalid(reason: error.description)
        }
    }

    /// What old clients have to be told: the whole text, and which device is to ignore it.
    ///
    /// Ask for it as often as old clients are to be told, such as ten times a second.
    ///
    /// - Parameters:
    ///   - name: What the backend calls itself where no device is to ignore the text.
    ///   - now: The time since some fixed moment.
    /// - Returns: Text and device; `nil` when they have been told.
    public mutating func wholeTextUpdate(
        by name: String,
        at now: Duration
    ) -> (text: String, device: String)? {
        bridge.update(by: name, at: now, in: document)
    }
}

/// What one batch would do, checked without doing it.
private struct BatchChecks {
    let document: TextDocument
    let batch: TextBatch
    var number: UInt64
    /// The times that the batch gives, each range with its end.
    var inserted: [Range<UInt64>] = []
    var insertedCount = 0
    var endTime: UInt64
    var time: UInt64
    /// Scalars in the text after the batch; of what is deleted at least that much was visible.
    var length: Int

    init(of batch: TextBatch, on document: TextDocument) {
        self.document = document
        self.batch = batch
        number = batch.number
        endTime = document.sequence.endTime(of: batch.replica)
        time = document.time
        length = document.scalarCount
    }

    mutating func check(_ operation: TextOperation) throws(TextRefusal) {
        switch operation {
        case .insert(let start, let parent, let text):
            let count = text.unicodeScalars.count
            guard count > 0, count <= TextLimits.insertedByOperation else {
                throw malformed("it inserts \(count) scalars")
            }
            if let parent {
                guard isKnown(ScalarRange(parent, count: 1)) else {
                    throw .stale(reason: "operation \(number) builds upon what is not there")
                }
            }
            guard start > (parent?.time ?? 0) else { throw malformed("it is older than its place") }
            guard start >= endTime else { throw malformed("its time \(start) was used before") }
            guard start <= time + TextLimits.timeLeap,
                start < ScalarID.timeMax - UInt64(count)
            else { throw malformed("its time \(start) is too far ahead of \(time)") }
            endTime = start + UInt64(count)
            time = max(time, endTime - 1)
            inserted.append(start..<endTime)
            insertedCount += count
            length += count
        case .delete(let range):
            guard range.count > 0, range.start.time > 0, range.count <= TextLimits.timeLeap else {
                throw malformed("it deletes \(range.count) scalars")
            }
            guard isKnown(range) else {
                throw .stale(reason: "operation \(number) deletes what is not there")
            }
            length -= document.sequence.visibleRanges(in: range).reduce(0) { $0 + $1.count }
        }
        number += operation.numberCount
    }

    private func isKnown(_ range: ScalarRange) -> Bool {
        if document.sequence.contains(range) { return true }
        guard range.start.replica == batch.replica else { return false }
        // Typed by this very batch, or partly so.
        var next = range.start
        while next.time < range.endTime {
            if let typed = inserted.first(where: { $0.contains(next.time) }) {
                next.time = typed.upperBound
            } else if document.sequence.contains(next) {
                next.time += 1
            } else {
                return false
            }
        }
        return true
    }

    private func malformed(_ reason: String) -> TextRefusal {
        let error = TextError.malformed(replica: batch.replica, number: number, reason: reason)
        return .invalid(reason: error.description)
    }
}
