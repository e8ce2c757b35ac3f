/// A text for concurrent editing: a sequence CRDT as a value, without network, clock or threads.
///
/// Replicas that have applied the same operations, in any order, have the same text. Each scalar has a permanent ID and
/// is placed to the right of the scalar after which it was typed. Of concurrent insertions at the same position, the
/// later one is placed to the left (the order of RGA). The IDs of deleted scalars are kept until the text is compacted.
///
/// ```swift
/// var here = TextDocument(replica: .random())
/// var there = TextDocument(replica: .random())
/// let batch = try here.replace(0..<0, with: "Hello")
/// try there.apply(batch)  // there.string == "Hello"
/// ```
package struct TextDocument: Sendable {
    /// The local replica.
    package let replica: ReplicaID
    /// The limits of the text.
    package let limits: TextLimits
    /// The number of compactions; operations of another epoch are not applied.
    package private(set) var epoch: UInt64
    /// The text.
    package private(set) var string: String
    /// For each replica, the number of its last operation in the text.
    package private(set) var version: [ReplicaID: UInt64]

    /// The latest known Lamport time.
    private(set) var time: UInt64
    private(set) var sequence = BlockSequence()
    /// The operations that wait for missing ones, by replica and number.
    private var waiting: [ReplicaID: [UInt64: TextOperation]] = [:]

    /// The number of operations that wait for missing ones.
    package private(set) var waitingCount = 0

    /// Creates a text for a replica, which needs a new ID each time a text is opened.
    package init(
        replica: ReplicaID,
        from snapshot: TextSnapshot = .empty,
        limits: TextLimits = TextLimits()
    ) {
        self.replica = replica
        self.limits = limits
        epoch = snapshot.epoch
        version = snapshot.version
        time = snapshot.time
        string = snapshot.string
        for run in snapshot.runs {
            switch run {
            case .visible(let id, let text):
                let scalars = text.unicodeScalars
                sequence.append(scalars, id: id, isDeleted: false, count: scalars.count)
            case .deleted(let range):
                sequence.append([], id: range.start, isDeleted: true, count: range.count)
            }
        }
    }

    /// The number of UTF-16 units of the text.
    package var utf16Count: Int { sequence.visible.utf16 }
    /// The number of Unicode scalars of the text.
    package var scalarCount: Int { sequence.visible.scalars }
    /// The number of deleted scalars whose IDs are still stored.
    package var deletedCount: Int { sequence.deletedCount }

    /// The number of the last local operation.
    var lastNumber: UInt64 { version[replica, default: 0] }

    // MARK: Editing

    /// Edits the text locally.
    ///
    /// - Parameters:
    ///   - range: The range to replace, in UTF-16 offsets.
    ///   - text: The replacement; may be empty.
    /// - Returns: The operations to send to other replicas; empty when nothing changed.
    /// - Throws: ``TextError/outOfBounds(range:length:)``, ``TextError/insideScalar(offset:)`` or
    ///   ``TextError/tooLong(length:limit:)``; the text is then unchanged.
    package mutating func replace(
        _ range: Range<Int>,
        with text: String
    ) throws(TextError) -> TextBatch {
        guard range.lowerBound >= 0, range.upperBound <= utf16Count else {
            throw .outOfBounds(range: range, length: utf16Count)
        }
        let (left, deleted) = try sequence.scalars(in: range)
        return try replace(deleted, after: left, with: text)
    }

    /// Edits the text by IDs: deletes scalars, then inserts text after a scalar.
    ///
    /// - Parameters:
    ///   - deleted: The scalars to delete, which must exist.
    ///   - left: The scalar to insert after, which must exist but may be deleted; `nil` for the start.
    ///   - text: The text to insert.
    /// - Returns: The operations to send to other replicas.
    /// - Throws: ``TextError/tooLong(length:limit:)``; the text is then unchanged.
    mutating func replace(
        _ deleted: [ScalarRange],
        after left: ScalarID?,
        with text: String
    ) throws(TextError) -> TextBatch {
        let scalars = text.unicodeScalars
        let removedCount = deleted.reduce(0) { $0 + $1.count }
        let length = scalarCount - removedCount + scalars.count
        // A text that concurrent edits have made too long may still be shortened.
        guard length <= limits.length || scalars.count <= removedCount else {
            throw .tooLong(length: length, limit: limits.length)
        }
        return write(deleted, after: left, text)
    }

    /// Edits the text by IDs, without a limit on the length.
    mutating func write(
        _ deleted: [ScalarRange],
        after left: ScalarID?,
        _ text: String
    ) -> TextBatch {
        var batch = TextBatch(
            epoch: epoch,
            replica: replica,
            number: lastNumber + 1,
            operations: deleted.map { .delete($0) }
        )
        var left = left
        var rest = text.unicodeScalars[...]
        var time = time
        while !rest.isEmpty {
            let part = rest.prefix(TextLimits.insertedByOperation)
            batch.operations.append(.insert(time: time + 1, after: left, text: String(part)))
            time += UInt64(part.count)
            left = ScalarID(time: time, replica: replica)
            rest = rest[part.endIndex...]
        }
        for operation in batch.operations { perform(operation, by: replica) }
        if !batch.operations.isEmpty { version[replica] = batch.nextNumber - 1 }
        return batch
    }

    // MARK: Applying

    /// Applies another replica's operations, in any order of arrival.
    ///
    /// Known operations are ignored; an operation that refers to a missing one waits for it.
    ///
    /// - Parameter batch: The operations, of this ``epoch``.
    /// - Returns: The changes of the text, in order; each has offsets in the text after the previous change.
    /// - Throws: ``TextError/malformed(replica:number:reason:)`` or ``TextError/tooManyWaiting(limit:)``; the
    ///   operations before the faulty one have been applied.
    @discardableResult
    package mutating func apply(_ batch: TextBatch) throws(TextError) -> [TextSplice] {
        var splices: [TextSplice] = []
        try apply(batch, reporting: &splices)
        return splices
    }

    /// Applies another replica's operations; `splices` receives the changes even when this throws.
    mutating func apply(
        _ batch: TextBatch,
        reporting splices: inout [TextSplice]
    ) throws(TextError) {
        guard batch.epoch == epoch else {
            throw .malformed(
                "it is of epoch \(batch.epoch), and the text is in \(epoch)",
                by: batch.replica,
                batch.number
            )
        }
        var number = batch.number
        for operation in batch.operations {
            let next = number + operation.numberCount
            if let rest = try ready(operation, number: number, by: batch.replica) {
                splices += perform(rest, by: batch.replica)
                version[batch.replica] = next - 1
            } else if next > version[batch.replica, default: 0] + 1 {
                try wait(operation, number: number, by: batch.replica)
            }
            number = next
        }
        if waitingCount > 0 { try applyWaiting(&splices) }
    }

    private mutating func wait(
        _ operation: TextOperation,
        number: UInt64,
        by replica: ReplicaID
    ) throws(TextError) {
        // Of two operations with the same number, the longer contains the shorter.
        if let known = waiting[replica]?[number] {
            if known.numberCount < operation.numberCount { waiting[replica]?[number] = operation }
            return
        }
        guard waitingCount < limits.waitingOperations else {
            throw .tooManyWaiting(limit: limits.waitingOperations)
        }
        waiting[replica, default: [:]][number] = operation
        waitingCount += 1
    }

    /// Applies waiting operations until none is ready.
    private mutating func applyWaiting(_ splices: inout [TextSplice]) throws(TextError) {
        var hasApplied = true
        while hasApplied {
            hasApplied = false
            for replica in waiting.keys.sorted() {
                for number in waiting[replica, default: [:]].keys.sorted() {
                    guard number <= version[replica, default: 0] + 1,
                        let operation = waiting[replica]?.removeValue(forKey: number)
                    else { break }
                    waitingCount -= 1
                    let next = number + operation.numberCount
                    guard next > version[replica, default: 0] + 1 else { continue }
                    guard let rest = try ready(operation, number: number, by: replica) else {
                        waiting[replica]?[number] = operation
                        waitingCount += 1
                        break
                    }
                    splices += perform(rest, by: replica)
                    version[replica] = next - 1
                    hasApplied = true
                }
                if waiting[replica]?.isEmpty == true { waiting[replica] = nil }
            }
        }
    }

    /// Returns the new part of an operation that can be applied now, otherwise `nil`.
    private func ready(
        _ operation: TextOperation,
        number: UInt64,
        by replica: ReplicaID
    ) throws(TextError) -> TextOperation? {
        let last = version[replica, default: 0]
        guard number > 0, number < ScalarID.timeMax else {
            throw .malformed("numbers begin with 1", by: replica, number)
        }
        guard operation.numberCount > 0 else {
            throw .malformed("it inserts nothing", by: replica, number)
        }
        guard number <= last + 1, number + operation.numberCount > last + 1 else { return nil }
        let rest = operation.dropping(last + 1 - number, by: replica)
        return try isReady(rest, by: replica, number: number) ? rest : nil
    }

    /// Whether the text contains every scalar that an operation refers to.
    private func isReady(
        _ operation: TextOperation,
        by replica: ReplicaID,
        number: UInt64
    ) throws(TextError) -> Bool {
        func malformed(_ reason: String) -> TextError {
            .malformed(reason, by: replica, number)
        }
        switch operation {
        case .insert(let time, let parent, let text):
            let count = text.unicodeScalars.count
            guard count <= TextLimits.insertedByOperation else {
                throw malformed("it inserts \(count) scalars")
            }
            guard time > (parent?.time ?? 0) else { throw malformed("it is older than its parent") }
            if let parent, !sequence.contains(parent) { return false }
            // Checked only when the operation can be applied, because other operations may first advance the time.
            guard time <= self.time + TextLimits.timeLeap, time < ScalarID.timeMax - UInt64(count)
            else { throw malformed("its time \(time) is too far ahead of \(self.time)") }
            guard time >= sequence.endTime(of: replica) else {
                throw malformed("its time \(time) was used before")
            }
            return true
        case .delete(let range):
            guard range.count > 0, range.start.time > 0, range.count <= TextLimits.timeLeap
            else {
                throw malformed("it deletes \(range.count) scalars from \(range.start.time) on")
            }
            return sequence.contains(range)
        }
    }

    @discardableResult
    private mutating func perform(
        _ operation: TextOperation,
        by replica: ReplicaID
    ) -> [TextSplice] {
        switch operation {
        case .insert(let time, let parent, let text):
            let scalars = text.unicodeScalars
            let id = ScalarID(time: time, replica: replica)
            let length = sequence.visible
            let before = sequence.insert(scalars, id: id, after: parent)
            self.time = max(self.time, time + UInt64(sequence.visible.scalars - length.scalars) - 1)
            splice(before.utf8..<before.utf8, text)
            return [TextSplice(before.utf16..<before.utf16, text)]
        case .delete(let range):
            return sequence.delete(range).map { before, removed in
                splice(before.utf8..<(before.utf8 + removed.utf8), "")
                return TextSplice(before.utf16..<(before.utf16 + removed.utf16), "")
            }
        }
    }

    /// Updates the string; the conversion of a UTF-8 offset to an index takes constant time.
    private mutating func splice(_ range: Range<Int>, _ text: String) {
        let start = string.utf8.index(string.startIndex, offsetBy: range.lowerBound)
        let end = string.utf8.index(start, offsetBy: range.count)
        string.unicodeScalars.replaceSubrange(start..<end, with: text.unicodeScalars)
    }
}

extension TextDocument {
    // MARK: Anchors

    /// Returns an anchor: a position that moves with the text around it.
    ///
    /// - Parameters:
    ///   - offset: A UTF-16 offset; limited to the end, and moved to the boundary of a surrogate pair.
    ///   - bias: The neighbour to which the anchor is attached.
    /// - Returns: The anchor.
    package func anchor(at offset: Int, bias: TextAnchor.Bias) -> TextAnchor {
        let offset = min(max(offset, 0), utf16Count)
        switch bias {
        case .left:
            guard offset > 0 else { return .start }
            let left = try? sequence.scalars(in: offset..<offset).left
            return left.map { .after($0) } ?? anchor(at: offset - 1, bias: bias)
        case .right:
            guard offset < utf16Count else { return .end }
            for length in [1, 2] where offset + length <= utf16Count {
                let range = offset..<(offset + length)
                if let first = try? sequence.scalars(in: range).ranges.first {
                    return .before(first.start)
                }
            }
            return anchor(at: offset + 1, bias: bias)
        }
    }

    /// Returns the current UTF-16 offset of an anchor; `nil` if the neighbour has not arrived or was compacted away.
    package func offset(of anchor: TextAnchor) -> Int? {
        switch anchor.position {
        case .start: 0
        case .end: utf16Count
        case .before(let id): sequence.position(of: id)?.before.utf16
        case .after(let id):
            sequence.position(of: id).map { $0.before.utf16 + $0.visible.utf16 }
        }
    }

    /// The ID of the last visible scalar.
    var lastVisible: ScalarID? {
        let end = anchor(at: utf16Count, bias: .left)
        return if case .after(let id) = end.position { id } else { nil }
    }

    // MARK: Snapshots

    /// Returns the text with the IDs of its scalars and the serial of the last log entry, without waiting operations.
    package func snapshot(serial: UInt64 = 0) -> TextSnapshot {
        var runs: [TextSnapshot.Run] = []
        for block in sequence.blocks { append(block, to: &runs) }
        return TextSnapshot(epoch: epoch, serial: serial, time: time, version: version, runs: runs)
    }

    /// Returns the text of the next epoch, without the IDs of deleted scalars.
    ///
    /// Operations of the old epoch may refer to removed IDs. So a single replica decides when to compact, and the
    /// others reload the text; see ``TextAuthority``.
    ///
    /// - Parameter isKept: Returns whether the version of a replica is still needed.
    /// - Returns: A snapshot of the next epoch.
    func compacted(keeping isKept: (ReplicaID) -> Bool) -> TextSnapshot {
        var runs: [TextSnapshot.Run] = []
        for block in sequence.blocks where !block.isDeleted { append(block, to: &runs) }
        return TextSnapshot(
            epoch: epoch + 1,
            serial: 0,
            time: time,
            version: version.filter { isKept($0.key) },
            runs: runs
        )
    }

    /// Appends a block as a run, or merges it into the previous run, because block boundaries are an implementation
    /// detail.
    private func append(_ block: TextBlock, to runs: inout [TextSnapshot.Run]) {
        if block.isDeleted {
            if case .deleted(var range)? = runs.last, range.endTime == block.id.time,
                range.start.replica == block.id.replica
            {
                range.count += block.count
                runs[runs.count - 1] = .deleted(range)
            } else {
                runs.append(.deleted(block.range))
            }
            return
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: sequence.scalars(of: block))
        if case .visible(let id, let before)? = runs.last, id.replica == block.id.replica,
            id.time + UInt64(before.unicodeScalars.count) == block.id.time
        {
            runs[runs.count - 1] = .visible(id, before + String(text))
        } else {
            runs.append(.visible(block.id, String(text)))
        }
    }
}
