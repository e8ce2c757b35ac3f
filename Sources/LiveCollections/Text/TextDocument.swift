/// A text that many edit at the same time: a sequence CRDT as a value, without network, time or threads.
///
/// Whoever applies the same operations, in whatever order, has the same text. Each scalar keeps the name that
/// its writer gave it and goes right of the scalar that it was typed after; of those typed at the same place
/// the later stands left (the order of RGA). Deleted scalars leave their names behind until the text is
/// compacted.
///
/// ```swift
/// var here = TextDocument(replica: .random())
/// var there = TextDocument(replica: .random())
/// let batch = try here.replace(0..<0, with: "Hello")
/// try there.apply(batch)  // there.string == "Hello"
/// ```
public struct TextDocument: Sendable {
    /// Who edits here.
    public let replica: ReplicaID
    /// What the text may take, and hold for others.
    public let limits: TextLimits
    /// How often the text had been compacted; operations of another epoch are not applied.
    public private(set) var epoch: UInt64
    /// The text.
    public private(set) var string: String
    /// The number of the last operation of each replica that is part of the text.
    public private(set) var version: [ReplicaID: UInt64]

    /// The latest Lamport time that is known.
    private(set) var time: UInt64
    private(set) var sequence = BlockSequence()
    /// Operations that build upon others which have not come, by replica and number.
    private var waiting: [ReplicaID: [UInt64: TextOperation]] = [:]

    /// How many operations wait for others which they build upon.
    public private(set) var waitingCount = 0

    /// Opens a text.
    ///
    /// - Parameters:
    ///   - replica: Who edits here: a fresh name for each time that a text is opened.
    ///   - snapshot: What the text begins with.
    ///   - limits: What the text may take.
    public init(
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

    /// How many UTF-16 units the text has.
    public var utf16Count: Int { sequence.visible.utf16 }
    /// How many Unicode scalars the text has.
    public var scalarCount: Int { sequence.visible.scalars }
    /// How many deleted scalars have left their names behind.
    public var deletedCount: Int { sequence.deletedCount }

    /// The number of the last operation that was written here.
    var lastNumber: UInt64 { version[replica, default: 0] }

    // MARK: Editing

    /// Edits the text here.
    ///
    /// - Parameters:
    ///   - range: What to replace, in UTF-16 offsets.
    ///   - text: What takes its place; may be empty.
    /// - Returns: What the others have to be told; its operations are empty when nothing has changed.
    /// - Throws: ``TextError/outOfBounds(range:length:)``, ``TextError/insideScalar(offset:)`` or
    ///   ``TextError/tooLong(length:limit:)``; then nothing has changed.
    public mutating func replace(
        _ range: Range<Int>,
        with text: String
    ) throws(TextError) -> TextBatch {
        guard range.lowerBound >= 0, range.upperBound <= utf16Count else {
            throw .outOfBounds(range: range, length: utf16Count)
        }
        let (left, deleted) = try sequence.scalars(in: range)
        return try replace(deleted, after: left, with: text)
    }

    /// Edits the text by names: deletes scalars, then types after another.
    ///
    /// - Parameters:
    ///   - deleted: What to delete; all of it is here.
    ///   - left: What to type after, `nil` for the front; it is here, but may be deleted.
    ///   - text: What to type.
    /// - Returns: What the others have to be told.
    /// - Throws: ``TextError/tooLong(length:limit:)``; then nothing has changed.
    mutating func replace(
        _ deleted: [ScalarRange],
        after left: ScalarID?,
        with text: String
    ) throws(TextError) -> TextBatch {
        let scalars = text.unicodeScalars
        let removedCount = deleted.reduce(0) { $0 + $1.count }
        let length = scalarCount - removedCount + scalars.count
        // What is too long already, since others typed at the same time, may still become shorter.
        guard length <= limits.length || scalars.count <= removedCount else {
            throw .tooLong(length: length, limit: limits.length)
        }
        return write(deleted, after: left, text)
    }

    /// Edits the text by names, whatever its length becomes.
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

    /// Takes in what another replica did, in whatever order it comes.
    ///
    /// What is here already is ignored; what builds upon something missing waits for it.
    ///
    /// - Parameter batch: The operations, of this ``epoch``.
    /// - Returns: What has changed, splice after splice: each in offsets of the text after the one before.
    /// - Throws: ``TextError/malformed(replica:number:reason:)`` or ``TextError/tooManyWaiting(limit:)``; what
    ///   came before the operation in question has been applied.
    @discardableResult
    public mutating func apply(_ batch: TextBatch) throws(TextError) -> [TextSplice] {
        var splices: [TextSplice] = []
        try apply(batch, telling: &splices)
        return splices
    }

    /// Takes in what another replica did, and tells what has changed also where it throws.
    mutating func apply(
        _ batch: TextBatch,
        telling splices: inout [TextSplice]
    ) throws(TextError) {
        guard batch.epoch == epoch else {
            throw .malformed(
                replica: batch.replica,
                number: batch.number,
                reason: "it is of epoch \(batch.epoch), and the text is in \(epoch)"
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
        // Of two that begin with the same number the longer has all that the shorter has.
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

    /// Applies what waits and does not have to any more, until nothing moves.
    private mutating func applyWaiting(_ splices: inout [TextSplice]) throws(TextError) {
        var hasMoved = true
        while hasMoved {
            hasMoved = false
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
                    hasMoved = true
                }
                if waiting[replica]?.isEmpty == true { waiting[replica] = nil }
            }
        }
    }

    /// What is new of an operation whose turn it is, and for which all that it builds upon is here.
    private func ready(
        _ operation: TextOperation,
        number: UInt64,
        by replica: ReplicaID
    ) throws(TextError) -> TextOperation? {
        let last = version[replica, default: 0]
        guard number > 0, number < ScalarID.timeMax else {
            throw .malformed(replica: replica, number: number, reason: "numbers begin with 1")
        }
        guard operation.numberCount > 0 else {
            throw .malformed(replica: replica, number: number, reason: "it inserts nothing")
        }
        guard number <= last + 1, number + operation.numberCount > last + 1 else { return nil }
        let rest = operation.dropping(last + 1 - number, by: replica)
        return try isReady(rest, by: replica, number: number) ? rest : nil
    }

    /// Whether all that an operation builds upon is here.
    private func isReady(
        _ operation: TextOperation,
        by replica: ReplicaID,
        number: UInt64
    ) throws(TextError) -> Bool {
        func malformed(_ reason: String) -> TextError {
            .malformed(replica: replica, number: number, reason: reason)
        }
        switch operation {
        case .insert(let time, let parent, let text):
            let count = text.unicodeScalars.count
            guard count <= TextLimits.insertedByOperation else {
                throw malformed("it inserts \(count) scalars")
            }
            guard time > (parent?.time ?? 0) else { throw malformed("it is older than its place") }
            if let parent, !sequence.contains(parent) { return false }
            // Judged when it can be applied: until then others may move time ahead.
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

    /// Keeps the string in step; in UTF-8 an offset is an index at once.
    private mutating func splice(_ range: Range<Int>, _ text: String) {
        let start = string.utf8.index(string.startIndex, offsetBy: range.lowerBound)
        let end = string.utf8.index(start, offsetBy: range.count)
        string.unicodeScalars.replaceSubrange(start..<end, with: text.unicodeScalars)
    }
}

extension TextDocument {
    // MARK: Anchors

    /// A place that moves along with the text around it.
    ///
    /// - Parameters:
    ///   - offset: A UTF-16 offset; beyond the text it counts as its end, inside a surrogate pair as the pair's.
    ///   - bias: Which neighbour the place keeps to.
    /// - Returns: The place.
    public func anchor(at offset: Int, bias: TextAnchor.Bias) -> TextAnchor {
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

    /// Where a place is now.
    ///
    /// - Parameter anchor: The place.
    /// - Returns: Its UTF-16 offset; `nil` when its neighbour has not come yet, or was deleted before the text
    ///   was compacted.
    public func offset(of anchor: TextAnchor) -> Int? {
        switch anchor {
        case .start: 0
        case .end: utf16Count
        case .before(let id): sequence.position(of: id)?.before.utf16
        case .after(let id):
            sequence.position(of: id).map { $0.before.utf16 + $0.visible.utf16 }
        }
    }

    /// The name of the last scalar that is to be seen.
    var lastVisible: ScalarID? {
        guard case .after(let id) = anchor(at: utf16Count, bias: .left) else { return nil }
        return id
    }

    // MARK: Snapshots

    /// The text with the names of its scalars; what waits is not part of it.
    ///
    /// - Parameter serial: How far the log of whoever orders the operations has come.
    /// - Returns: The snapshot.
    public func snapshot(serial: UInt64 = 0) -> TextSnapshot {
        var runs: [TextSnapshot.Run] = []
        for block in sequence.blocks { append(block, to: &runs) }
        return TextSnapshot(epoch: epoch, serial: serial, time: time, version: version, runs: runs)
    }

    /// The text of the next epoch: without the names of what is deleted.
    ///
    /// Whoever goes on in the old epoch may build upon a name that is not there any more. So one replica
    /// decides when, and the others begin anew with what it has; see ``TextAuthority``.
    ///
    /// - Parameter isKept: Whether the count of a replica's operations is still needed.
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

    /// Appends a block as a run, or to the run that it continues: how blocks are cut is nobody's business.
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
