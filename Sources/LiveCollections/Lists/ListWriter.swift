public import LiveRows

/// The single writer of a list, as a value: it orders and numbers edits.
///
/// This writer holds its rows in memory; a backend with a database implements the same rules. The writer replaces a
/// removed anchor by the row that preceded it, as long as it remembers that row. A published operation therefore has
/// the same effect on every client.
public struct ListWriter<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The maximum number of remembered mutations, and of remembered removed rows.
    static var memoryMax: Int { BoundedDictionary<Int, Int>.countMax }

    /// The number of the last change.
    public private(set) var revision: UInt64
    private var rows: KeyedRows<Row>
    /// The revisions of applied mutations, to answer repeated ones.
    private var revisions = BoundedDictionary<String, UInt64>()
    /// For each removed row, the row that preceded it.
    private var predecessors = BoundedDictionary<Row.ID, Row.ID?>()

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - rows: The rows, in order.
    ///   - revision: The revision of the rows.
    /// - Throws: `DuplicateRow` when two rows have the same ID.
    public init(_ rows: [Row] = [], revision: UInt64 = 0) throws(DuplicateRow) {
        self.rows = try KeyedRows(rows)
        self.revision = revision
    }

    /// The current rows.
    public var snapshot: ListSnapshot<Row> {
        ListSnapshot(revision: revision, rows: Array(rows.list))
    }

    /// Applies an edit, unless it was applied before.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: The revision of the edit and the change to publish; no change if the edit was applied before.
    /// - Throws: ``LiveListError/refused(reason:)`` when the list is not at ``ListCommit/ifRevision``.
    public mutating func commit(
        _ commit: ListCommit<Row>
    ) throws(LiveListError) -> (revision: UInt64, change: ListChange<Row>?) {
        if let revision = revisions[commit.mutation] { return (revision, nil) }
        if let expected = commit.ifRevision, expected != revision {
            throw .refused(
                reason: """
                    it requires revision \(expected) of the list, which is at revision \
                    \(revision); review the changes and edit again
                    """
            )
        }
        let operations = commit.operations.map { operation in
            let resolved = resolve(operation)
            remember(resolved)
            rows.apply(resolved)
            return resolved
        }
        revision += 1
        revisions[commit.mutation] = revision
        return (
            revision,
            ListChange(revision: revision, mutation: commit.mutation, operations: operations)
        )
    }

    private func resolve(_ operation: ListOperation<Row>) -> ListOperation<Row> {
        switch operation {
        case .put(let row, let after): .put(row, after: surviving(after))
        case .move(let id, let after): .move(id, after: surviving(after))
        // Other clients get the whole row.
        case .set(let row, _):
            rows[row.id].map { .update(operation.contents(over: $0)) } ?? operation
        case .update, .remove: operation
        }
    }

    /// Returns the anchor, or the nearest row before it that still exists.
    private func surviving(_ anchor: Row.ID?) -> Row.ID? {
        var anchor = anchor
        // Bounded: rows that were removed, restored and removed again may form a cycle.
        for _ in 0..<Self.memoryMax {
            guard let id = anchor, !rows.contains(id), let before = predecessors[id] else { break }
            anchor = before
        }
        return anchor
    }

    private mutating func remember(_ operation: ListOperation<Row>) {
        guard case .remove(let id) = operation, let index = rows.index(of: id) else { return }
        predecessors[id] = .some(index == 0 ? nil : rows.list[index - 1].id)
    }
}

/// A dictionary that evicts its oldest entry when it is full.
private struct BoundedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var values: [Key: Value] = [:]
    private var keys: [Key] = []
    private var oldest = 0

    static var countMax: Int { 10_000 }

    subscript(key: Key) -> Value? {
        get { values[key] }
        set {
            guard let newValue else { return }
            guard values.updateValue(newValue, forKey: key) == nil else { return }
            if keys.count < Self.countMax {
                keys.append(key)
            } else {
                values[keys[oldest]] = nil
                keys[oldest] = key
                oldest = (oldest + 1) % keys.count
            }
        }
    }
}
