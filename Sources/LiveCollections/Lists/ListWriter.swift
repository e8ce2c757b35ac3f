public import LiveRows

/// The one writer of a list, as a value: it puts edits in order and numbers them.
///
/// Backends with a database keep the same rules there; this one holds its rows in memory. An anchor
/// that is gone is replaced by the row that stood before it, as far as that is remembered, so that
/// what is told to everybody means the same to all.
public struct ListWriter<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// How many finished mutations, and how many removed rows, are remembered.
    public static var memoryMax: Int { Recent<Int, Int>.countMax }

    /// The number of the last change.
    public private(set) var revision: UInt64
    private var rows: KeyedRows<Row>
    /// What mutations led to, to answer one that comes again.
    private var revisions = Recent<String, UInt64>()
    /// For rows that were removed, the row that stood before them.
    private var predecessors = Recent<Row.ID, Row.ID?>()

    /// Begins with rows.
    ///
    /// - Parameters:
    ///   - rows: The rows, in order.
    ///   - revision: The number they have.
    /// - Throws: `DuplicateRow` when two of them have one id.
    public init(_ rows: [Row] = [], revision: UInt64 = 0) throws(DuplicateRow) {
        self.rows = try KeyedRows(rows)
        self.revision = revision
    }

    /// The rows as they are now.
    public var snapshot: ListSnapshot<Row> {
        ListSnapshot(revision: revision, rows: Array(rows.list))
    }

    /// Does an edit, once.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: The revision it led to, and the change to tell everybody; no change when the same
    ///   edit was done before.
    /// - Throws: ``LiveListError/refused(reason:)`` when the list is not at the revision that the
    ///   edit was meant for.
    public mutating func commit(
        _ commit: ListCommit<Row>
    ) throws(LiveListError) -> (revision: UInt64, change: ListChange<Row>?) {
        if let revision = revisions[commit.mutation] { return (revision, nil) }
        if let expected = commit.ifRevision, expected != revision {
            throw .refused(
                reason: """
                    it was meant for revision \(expected) of the list, which is at revision \
                    \(revision) now; look at what has changed and edit again
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
        case .update, .remove: operation
        }
    }

    /// The anchor, or the nearest row before it that is still there.
    private func surviving(_ anchor: Row.ID?) -> Row.ID? {
        var anchor = anchor
        // A row may have come back and gone again; a circle is not walked for ever.
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

/// A dictionary that forgets what was entered first.
private struct Recent<Key: Hashable & Sendable, Value: Sendable>: Sendable {
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
