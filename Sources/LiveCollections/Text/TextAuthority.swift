/// The backend's part of a shared text, as a value: it orders the operations of all replicas.
///
/// It appends batches to a log and returns missed entries. A long log is trimmed: clients that lack removed entries
/// load the text; others are not affected.
///
/// When IDs of deleted scalars accumulate, the authority begins a new *epoch* without them. It refuses a batch of an
/// older epoch: the replica then loads the text, locates its edits and sends them again. So the authority keeps no
/// history for clients that were offline for long, and no typed text is lost.
///
/// The backend must store the entries that ``commit(_:)`` and the other methods return, then publish them in order.
public struct TextAuthority: Sendable {
    /// The number of entries of the log at which trimming is due.
    static let entriesMax = 5_000
    /// The number of entries that remain after trimming.
    static let keptEntriesCount = 2_500
    /// The maximum number of entries that ``recovery(after:epoch:)`` returns.
    static let recoveryLengthMax = 200
    /// The number of epochs for which the version of an inactive replica is kept.
    ///
    /// A replica that reconnects later reapplies the edits that it does not find in the text.
    static let memory: UInt64 = 8
    /// The minimum number of deleted scalars for a new epoch.
    static let deletedCountMin = 2_000

    /// The text.
    package private(set) var document: TextDocument
    /// The serial of the last entry.
    public private(set) var serial: UInt64
    /// The last entries of this epoch, without gaps up to ``serial``.
    private var log: [TextEntry] = []
    /// For each replica, the last epoch in which it edited.
    private var lastActivity: [ReplicaID: UInt64]
    var bridge: WholeTextBridge

    /// Creates a text, or restores a stored one.
    ///
    /// - Parameters:
    ///   - snapshot: The stored text.
    ///   - log: The stored entries, in order: those after the snapshot, and earlier ones for
    ///     ``recovery(after:epoch:)``.
    ///   - limits: The limits of the text.
    /// - Throws: ``TextRefusal`` when the log does not follow the snapshot.
    public init(
        from snapshot: TextSnapshot = .empty,
        log: [TextEntry] = [],
        limits: TextLimits = TextLimits()
    ) throws(TextRefusal) {
        try self.init(replica: .random(), from: snapshot, log: log, limits: limits)
    }

    /// Creates a text with a new replica ID for edits on behalf of whole-text clients.
    package init(
        replica: ReplicaID,
        from snapshot: TextSnapshot = .empty,
        log: [TextEntry] = [],
        limits: TextLimits = TextLimits()
    ) throws(TextRefusal) {
        document = TextDocument(replica: replica, from: snapshot, limits: limits)
        serial = snapshot.serial
        lastActivity = snapshot.version.mapValues { _ in snapshot.epoch }
        bridge = WholeTextBridge()
        self.log = Self.entries(log, endingWith: snapshot)
        for entry in log where entry.serial > serial {
            guard entry.serial == serial + 1, case .batch(let batch) = entry.change else {
                throw .invalid(reason: "entry \(entry.serial) does not follow entry \(serial)")
            }
            _ = try commit(batch)
        }
        bridge.begin(with: document)
    }

    /// Returns the entries of a snapshot's epoch up to the snapshot, if they are complete.
    private static func entries(
        _ log: [TextEntry],
        endingWith snapshot: TextSnapshot
    ) -> [TextEntry] {
        var entries: [TextEntry] = []
        for entry in log where entry.serial <= snapshot.serial {
            guard case .batch(let batch) = entry.change, batch.epoch == snapshot.epoch else {
                continue
            }
            if let last = entries.last, entry.serial != last.serial + 1 { entries = [] }
            entries.append(entry)
        }
        return entries.last?.serial == snapshot.serial ? entries : []
    }

    /// The current text.
    public var snapshot: TextSnapshot { document.snapshot(serial: serial) }

    // MARK: Committing

    /// Applies a replica's operations.
    ///
    /// - Parameter batch: The operations; those applied before are ignored.
    /// - Returns: The entries to store and publish, in order; empty if all operations were known.
    /// - Throws: ``TextRefusal``; the text is then unchanged.
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
            // Unreachable: `check` checks every rule first.
            throw .invalid(reason: error.description)
        }
        return append(new)
    }

    /// Validates all operations before the first is applied: a batch is atomic.
    private func check(_ batch: TextBatch) throws(TextRefusal) {
        let known = document.version[batch.replica, default: 0]
        guard batch.number == known + 1 else {
            throw .stale(
                reason: "the batch begins with number \(batch.number), and \(known + 1) is next"
            )
        }
        var validation = BatchValidation(of: batch, on: document)
        for operation in batch.operations { try validation.check(operation) }
        let limit = document.limits.length
        guard validation.length <= limit || validation.insertedCount == 0 else {
            let error = TextError.tooLong(length: validation.length, limit: limit)
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

    // MARK: Recovery

    /// Returns the entries after a known entry, or the text.
    ///
    /// - Parameters:
    ///   - known: The serial up to which all entries are known.
    ///   - epoch: The epoch of the known entries.
    /// - Returns: At most 200 entries, or the text if the log no longer contains all of them.
    public func recovery(after known: UInt64, epoch: UInt64) -> TextRecovery {
        guard epoch == document.epoch, known <= serial, serial - known <= UInt64(log.count) else {
            return .snapshot(snapshot)
        }
        let missed = log.suffix(Int(serial - known))
        return .entries(Array(missed.prefix(Self.recoveryLengthMax)), serial: serial)
    }

    // MARK: Trimming

    /// Whether the log is long enough to be trimmed: 5,000 entries.
    public var isTrimmingDue: Bool { log.count >= Self.entriesMax }

    /// Removes all but the last 2,500 entries from the log.
    ///
    /// Store the ``snapshot``, and delete the stored entries up to the returned serial.
    ///
    /// - Returns: The serial of the last removed entry; `nil` if none was removed.
    public mutating func trimLog() -> UInt64? {
        let count = log.count - Self.keptEntriesCount
        guard count > 0 else { return nil }
        log.removeFirst(count)
        return serial - UInt64(log.count)
    }

    // MARK: Epochs

    /// Whether a new epoch is due, because the IDs of deleted scalars take most of the text's memory.
    ///
    /// A new epoch makes all clients load the text, so the number of entries alone is no reason for one.
    public var isCompactionDue: Bool {
        document.deletedCount >= max(Self.deletedCountMin, 2 * document.scalarCount)
    }

    /// Begins a new epoch without the IDs of deleted scalars.
    ///
    /// Replace everything stored by the ``snapshot``, then publish the entry.
    ///
    /// - Returns: The entry of the compaction.
    public mutating func compact() -> TextEntry {
        let epoch = document.epoch
        lastActivity = lastActivity.filter { $0.value + Self.memory >= epoch }
        let next = document.compacted { lastActivity[$0] != nil }
        document = TextDocument(replica: document.replica, from: next, limits: document.limits)
        log = []
        serial += 1
        return TextEntry(serial: serial, change: .compacted(epoch: next.epoch))
    }

    // MARK: Whole-text clients

    /// Applies the whole text of a client that does not support operations.
    ///
    /// The change is found by comparing the text with the texts that the client may have shown. Concurrent edits of
    /// other users stay.
    ///
    /// - Parameters:
    ///   - text: The text that the client shows.
    ///   - device: The client's name.
    ///   - now: The time since a fixed instant.
    /// - Returns: The entries to store and publish; empty if the client changed nothing.
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

    /// Returns the whole text to publish to whole-text clients, and the device that must ignore it.
    ///
    /// Call it at the rate of these updates, such as ten times a second.
    ///
    /// - Parameters:
    ///   - name: The backend's name, used when no device must ignore the text.
    ///   - now: The time since a fixed instant.
    /// - Returns: The text and the device; `nil` if the text has not changed.
    public mutating func wholeTextUpdate(
        by name: String,
        at now: Duration
    ) -> (text: String, device: String)? {
        bridge.update(by: name, at: now, in: document)
    }
}

/// Validates one batch without applying it.
private struct BatchValidation {
    let document: TextDocument
    let batch: TextBatch
    var number: UInt64
    /// The times of the scalars that the batch inserts.
    var inserted: [Range<UInt64>] = []
    var insertedCount = 0
    var endTime: UInt64
    var time: UInt64
    /// The maximum number of scalars after the batch; scalars that the batch both inserts and deletes are not
    /// subtracted.
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
                    throw .stale(reason: "operation \(number) refers to an unknown scalar")
                }
            }
            guard start > (parent?.time ?? 0) else {
                throw malformed("it is older than its parent")
            }
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
                throw .stale(reason: "operation \(number) deletes an unknown scalar")
            }
            length -= document.sequence.visibleRanges(in: range).reduce(0) { $0 + $1.count }
        }
        number += operation.numberCount
    }

    private func isKnown(_ range: ScalarRange) -> Bool {
        if document.sequence.contains(range) { return true }
        guard range.start.replica == batch.replica else { return false }
        // Inserted by this batch, at least partly.
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
        let error = TextError.malformed(reason, by: batch.replica, number)
        return .invalid(reason: error.description)
    }
}
