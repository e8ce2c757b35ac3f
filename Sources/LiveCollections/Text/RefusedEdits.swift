/// Local edits that the backend refused; they have been reverted, and this value contains their text.
///
/// Show the text, store it, or insert it again at ``Insertion/position``.
public struct RefusedEdits: Hashable, Sendable {
    /// A text that the edits would have inserted.
    public struct Insertion: Hashable, Sendable {
        /// The text, without the parts that the edits deleted again.
        public var text: String
        /// The position of the text: after its left neighbour, which other users may have deleted.
        ///
        /// ``LiveText/offset(of:)`` returns the current offset.
        public var position: TextAnchor

        /// Creates an insertion of `text` at `position`.
        package init(_ text: String, at position: TextAnchor) {
            self.text = text
            self.position = position
        }
    }

    /// The refused batch, then the edits that depend on it: they insert text after refused text, or delete some of it.
    public var batches: [TextBatch]
    /// The inserted texts, in the order of the text.
    public var insertions: [Insertion]
    /// The backend's reason.
    public var refusal: TextRefusal

    /// Creates refused edits from the refused batch, followed by the edits that depend on it.
    package init(batches: [TextBatch], insertions: [Insertion], refusal: TextRefusal) {
        self.batches = batches
        self.insertions = insertions
        self.refusal = refusal
    }
}

extension [TextBatch] {
    /// Separates the operations that cannot be applied without a refused batch.
    ///
    /// - Parameter refused: The batch.
    /// - Returns: The operations that refer to its scalars, directly or indirectly, with the deletions before them; and
    ///   all others. A deletion of several scalars may be divided.
    func split(dependingOn refused: TextBatch) -> (dependent: [TextBatch], independent: [TextBatch])
    {
        var missing = ScalarRanges()
        for case .insert(let time, _, let text) in refused.operations {
            missing.insert(time, count: text.unicodeScalars.count, by: refused.replica)
        }
        var result: (dependent: [TextBatch], independent: [TextBatch]) = ([], [])
        for batch in self {
            var (dependent, independent): ([TextOperation], [TextOperation]) = ([], [])
            for operation in batch.operations {
                switch operation {
                case .insert(let time, let parent?, let text) where missing.contains(parent):
                    missing.insert(time, count: text.unicodeScalars.count, by: batch.replica)
                    // The text that it replaces must not disappear without it.
                    while let last = independent.last, case .delete = last {
                        dependent.append(independent.removeLast())
                    }
                    dependent.append(operation)
                case .insert: independent.append(operation)
                case .delete(let range):
                    for (part, isMissing) in missing.parts(of: range) {
                        if isMissing {
                            dependent.append(.delete(part))
                        } else {
                            independent.append(.delete(part))
                        }
                    }
                }
            }
            if !dependent.isEmpty { result.dependent.append(batch.with(dependent)) }
            if !independent.isEmpty { result.independent.append(batch.with(independent)) }
        }
        return result
    }
}

extension TextBatch {
    fileprivate func with(_ operations: [TextOperation]) -> TextBatch {
        TextBatch(epoch: epoch, replica: replica, number: number, operations: operations)
    }

    /// The two halves of the batch, for a backend that refuses it as too large; `nil` for a single scalar or deletion.
    var halves: [TextBatch]? {
        var (first, second) = (self, self)
        if operations.count > 1 {
            first.operations = Array(operations.prefix(operations.count / 2))
            second.operations = Array(operations.dropFirst(operations.count / 2))
        } else if case .insert(let time, let parent, let text)? = operations.first,
            text.unicodeScalars.count > 1
        {
            let count = text.unicodeScalars.count / 2
            let start = String(text.unicodeScalars.prefix(count))
            first.operations = [.insert(time: time, after: parent, text: start)]
            second.operations = [operations[0].dropping(UInt64(count), by: replica)]
        } else {
            return nil
        }
        second.number = first.nextNumber
        return [first, second]
    }
}

/// A set of scalars.
private struct ScalarRanges {
    private var times: [ReplicaID: [Range<UInt64>]] = [:]

    mutating func insert(_ time: UInt64, count: Int, by replica: ReplicaID) {
        times[replica, default: []].append(time..<(time + UInt64(count)))
    }

    func contains(_ id: ScalarID) -> Bool {
        times[id.replica]?.contains { $0.contains(id.time) } == true
    }

    /// Divides a range into parts inside and outside the set.
    func parts(of range: ScalarRange) -> [(part: ScalarRange, isInside: Bool)] {
        var parts: [(part: ScalarRange, isInside: Bool)] = []
        let ranges = times[range.start.replica] ?? []
        var next = range.start
        while next.time < range.endTime {
            let inside = ranges.first { $0.contains(next.time) }
            let bound =
                inside?.upperBound
                ?? ranges.map(\.lowerBound).filter { $0 > next.time }.min() ?? range.endTime
            let end = Swift.min(bound, range.endTime)
            parts.append((ScalarRange(next, count: Int(end - next.time)), inside != nil))
            next.time = end
        }
        return parts
    }
}
