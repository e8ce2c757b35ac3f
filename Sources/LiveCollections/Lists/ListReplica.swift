package import LiveRows

/// A client's copy of a list, as a value: each input changes it and returns the effects to perform.
///
/// It has no network, clock or tasks, so every schedule can be tested. Its rows are the writer's rows with the
/// unconfirmed edits applied on top. When the writer's rows change, those edits are reverted, the change is applied,
/// and the edits are reapplied.
package struct ListReplica<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// An effect to perform after an input.
    package enum Effect: Sendable {
        /// Fetch a snapshot and pass it to ``fetched(_:_:)`` with this number.
        case fetch(number: Int, failures: Int)
        /// Send a commit; `failures` is the number of attempts without an answer.
        case send(ListCommit<Row>, failures: Int)
        /// The writer has accepted an edit.
        case confirmed(mutation: String)
        /// An edit is reverted.
        case refused(ListCommit<Row>, any Error)
    }

    /// An edit that is applied and not confirmed.
    struct Pending: Sendable {
        let commit: ListCommit<Row>
        /// The operations that revert the edit, in the order of the edit.
        var inverses: [ListOperation<Row>]
        /// The revision in the writer's answer, until the change of that revision arrives.
        var revision: UInt64?
        /// Whether the answer came before the current fetch, whose rows therefore contain the edit.
        var isInSnapshot = false
        /// Whether the source has sent an update since the edit was sent.
        var hasNewerUpdate = false
    }

    private let options: ListOptions
    package private(set) var tracked = TrackedRows<Row>()
    package private(set) var state = ListState.initial
    /// The revision of the rows; `nil` before the first snapshot and while it is unknown.
    package private(set) var revision: UInt64?
    private(set) var pending: [Pending] = []
    /// The edit that was sent and not answered; edits are sent one at a time.
    private var sending: (mutation: String, failures: Int)?

    private var isFetching = false
    private var fetchNumber = 0
    private var fetchFailures = 0
    /// The changes received since the fetch began, and their highest revision.
    private var buffered: [ListChange<Row>] = []
    private var highest: UInt64 = 0

    package init(options: ListOptions) { self.options = options }

    package var rows: RowList<Row> { tracked.list }
    package var pendingCount: Int { pending.count }

    // MARK: The source

    /// The list has begun to listen.
    package mutating func began() {
        if case .live = state { return }
        state = .loading
    }

    /// The source sends changes from now on; earlier ones may have been missed.
    package mutating func subscribed() -> [Effect] {
        fetchFailures = 0
        return fetch() + retryNow()
    }

    /// Retries a waiting edit without delay: the network is back.
    private mutating func retryNow() -> [Effect] {
        guard let last = sending, last.failures > 0,
            let edit = pending.first(where: { $0.commit.mutation == last.mutation })
        else { return [] }
        sending = (last.mutation, 0)
        return [.send(edit.commit, failures: 0)]
    }

    /// The source has failed; the rows stay.
    package mutating func failed(_ error: any Error) { state = .failed(error) }

    private mutating func fetch() -> [Effect] {
        if revision == nil { state = .loading }
        isFetching = true
        fetchNumber += 1
        buffered = []
        highest = 0
        for index in pending.indices where pending[index].revision != nil {
            pending[index].isInSnapshot = true
        }
        return [.fetch(number: fetchNumber, failures: fetchFailures)]
    }

    /// The writer has made a change.
    package mutating func changed(_ change: ListChange<Row>) -> [Effect] {
        if isFetching { buffer(change) }
        guard let revision else { return [] }
        if change.revision <= revision {
            // Already applied, perhaps by a snapshot; but it may confirm a pending edit.
            return settle { $0.commit.mutation == change.mutation }
        }
        if change.revision == revision + 1 { return apply(change) }
        guard !isFetching else { return [] }
        let effects = fetch()
        buffer(change)
        return effects
    }

    private mutating func buffer(_ change: ListChange<Row>) {
        highest = max(highest, change.revision)
        if buffered.count < options.bufferedChangesMax { buffered.append(change) }
    }

    private mutating func apply(_ change: ListChange<Row>) -> [Effect] {
        let settled = pending.indices.filter { isSettled(pending[$0], by: change) }
        let effects = confirm(settled)
        markNewerUpdate()
        rebase(without: Set(settled)) { tracked in
            for operation in change.operations { _ = tracked.apply(operation) }
        }
        revision = change.revision
        state = .live
        checkRowLimit()
        return effects + sendNext()
    }

    private func isSettled(_ edit: Pending, by change: ListChange<Row>) -> Bool {
        edit.commit.mutation == change.mutation
            || edit.revision.map { $0 <= change.revision } == true
    }

    /// A snapshot was fetched.
    package mutating func fetched(_ number: Int, _ snapshot: ListSnapshot<Row>) -> [Effect] {
        guard number == fetchNumber, isFetching else { return [] }
        do {
            var effects = try install(snapshot)
            isFetching = false
            for change in exchange(&buffered, with: []) {
                guard let revision, !isFetching, change.revision >= revision else { continue }
                effects += changed(change)
            }
            if !isFetching, let revision, highest > revision {
                // The snapshot lacks changes that were received, and one of them is missing.
                fetchFailures += 1
                effects += fetch()
            } else if !isFetching {
                fetchFailures = 0
            }
            return effects
        } catch {
            return fetchFailed(number, error)
        }
    }

    /// A snapshot could not be fetched or used.
    package mutating func fetchFailed(_ number: Int, _ error: any Error) -> [Effect] {
        guard number == fetchNumber, isFetching else { return [] }
        state = .failed(error)
        fetchFailures += 1
        fetchNumber += 1
        return [.fetch(number: fetchNumber, failures: fetchFailures)]
    }

    /// A snapshot arrived from a source that sends no changes.
    package mutating func arrived(_ snapshot: ListSnapshot<Row>) -> [Effect] {
        do {
            return try install(snapshot)
        } catch {
            state = .failed(error)
            return []
        }
    }

    private mutating func install(_ snapshot: ListSnapshot<Row>) throws -> [Effect] {
        guard snapshot.rows.count <= options.rowsMax else {
            throw LiveListError.tooManyRows(count: snapshot.rows.count, limit: options.rowsMax)
        }
        let rows = try KeyedRows(snapshot.rows)
        let settled = pending.indices.filter { index in
            let edit = pending[index]
            return edit.isInSnapshot || edit.revision.map { $0 <= snapshot.revision } == true
        }
        let effects = confirm(settled)
        markNewerUpdate()
        rebase(without: Set(settled)) { $0.replace(rows) }
        revision = snapshot.revision
        state = .live
        return effects
    }

    // MARK: Edits

    /// Returns an editor with a copy of the rows, for ``commit(_:mutation:)``.
    package func editor() -> ListEditor<Row> { ListEditor(tracked.keyed) }

    /// Applies an editor's operations immediately, to rows that may have changed since the editor was made.
    package mutating func commit(_ editor: ListEditor<Row>, mutation: String) -> [Effect] {
        commit(editor.operations, ifRevision: editor.ifRevision, mutation: mutation)
    }

    /// Applies operations immediately, by id.
    mutating func commit(
        _ operations: [ListOperation<Row>],
        ifRevision: UInt64?,
        mutation: String
    ) -> [Effect] {
        guard !operations.isEmpty else { return [] }
        let commit = ListCommit(mutation: mutation, operations: operations, ifRevision: ifRevision)
        if let error = limitError(for: operations) { return [.refused(commit, error)] }
        let inverses = operations.compactMap { tracked.apply($0) }
        // The rows that they were for may have been removed meanwhile.
        guard !inverses.isEmpty else { return [] }
        if let error = rowLimitError(for: operations) {
            for inverse in inverses.reversed() { _ = tracked.apply(inverse) }
            return [.refused(commit, error)]
        }
        pending.append(Pending(commit: commit, inverses: inverses))
        return sendNext()
    }

    private func limitError(for operations: [ListOperation<Row>]) -> LiveListError? {
        if pending.count >= options.pendingEditsMax {
            return .tooManyPendingEdits(limit: options.pendingEditsMax)
        }
        guard operations.count > options.operationsMax else { return nil }
        return .tooManyOperations(count: operations.count, limit: options.operationsMax)
    }

    private func rowLimitError(for operations: [ListOperation<Row>]) -> LiveListError? {
        let hasPut = operations.contains { if case .put = $0 { true } else { false } }
        guard hasPut, rows.count > options.rowsMax else { return nil }
        return .tooManyRows(count: rows.count, limit: options.rowsMax)
    }

    /// The writer has accepted an edit; `revision` is `nil` when the source does not number changes.
    package mutating func accepted(_ mutation: String, revision: UInt64?) -> [Effect] {
        answered(mutation)
        // An edit that was sent twice is answered twice: the first answer counts.
        guard let index = unansweredIndex(of: mutation) else { return sendNext() }
        var effects: [Effect] = [.confirmed(mutation: mutation)]
        if let revision {
            pending[index].revision = revision
            if let own = self.revision, revision <= own {
                rebase(without: [index]) { _ in }
            }
        } else {
            // The latest update of the source, or the next one, contains the edit. Until then the edit counts as one of
            // the source's.
            let operations = pending[index].hasNewerUpdate ? [] : pending[index].commit.operations
            rebase(without: [index]) { tracked in
                for operation in operations { _ = tracked.apply(operation) }
            }
        }
        effects += sendNext()
        return effects
    }

    /// The writer has refused an edit: it is reverted.
    package mutating func refused(_ mutation: String, _ error: any Error) -> [Effect] {
        answered(mutation)
        guard let index = unansweredIndex(of: mutation) else { return sendNext() }
        let commit = pending[index].commit
        rebase(without: [index]) { _ in }
        return [.refused(commit, error)] + sendNext()
    }

    /// A commit had no answer: it is sent again, with the same identifier.
    package mutating func unanswered(_ mutation: String) -> [Effect] {
        guard let sending, sending.mutation == mutation else { return [] }
        guard let edit = pending.first(where: { $0.commit.mutation == mutation }) else {
            answered(mutation)
            return sendNext()
        }
        self.sending = (mutation, sending.failures + 1)
        return [.send(edit.commit, failures: sending.failures + 1)]
    }

    private func unansweredIndex(of mutation: String) -> Int? {
        pending.firstIndex { $0.commit.mutation == mutation && $0.revision == nil }
    }

    private mutating func answered(_ mutation: String) {
        if sending?.mutation == mutation { sending = nil }
    }

    /// Sends the next edit, if the previous one is answered.
    private mutating func sendNext() -> [Effect] {
        guard sending == nil, let next = pending.first(where: { $0.revision == nil }) else {
            return []
        }
        sending = (next.commit.mutation, 0)
        return [.send(next.commit, failures: 0)]
    }

    /// Removes the pending edits that the rows already contain.
    private mutating func settle(_ isSettled: (Pending) -> Bool) -> [Effect] {
        let settled = pending.indices.filter { isSettled(pending[$0]) }
        guard !settled.isEmpty else { return [] }
        let effects = confirm(settled)
        rebase(without: Set(settled)) { _ in }
        return effects + sendNext()
    }

    private mutating func confirm(_ settled: [Int]) -> [Effect] {
        var effects: [Effect] = []
        for edit in settled.map({ pending[$0] }) {
            answered(edit.commit.mutation)
            // An answer with a revision has already confirmed the edit.
            if edit.revision == nil {
                effects.append(.confirmed(mutation: edit.commit.mutation))
            }
        }
        return effects
    }

    /// Records that the source sent an update while an edit is in flight.
    private mutating func markNewerUpdate() {
        guard let sending else { return }
        for index in pending.indices where pending[index].commit.mutation == sending.mutation {
            pending[index].hasNewerUpdate = true
        }
    }

    /// Reverts the pending edits, changes the writer's rows and reapplies the edits.
    private mutating func rebase(
        without dropped: Set<Int>,
        _ change: (inout TrackedRows<Row>) -> Void
    ) {
        for edit in pending.reversed() {
            for inverse in edit.inverses.reversed() { _ = tracked.apply(inverse) }
        }
        change(&tracked)
        pending = pending.indices.filter { !dropped.contains($0) }.map { pending[$0] }
        for index in pending.indices {
            pending[index].inverses = pending[index].commit.operations.compactMap {
                tracked.apply($0)
            }
        }
    }

    /// Stops following a list that has grown past the limit.
    private mutating func checkRowLimit() {
        guard rows.count > options.rowsMax else { return }
        state = .failed(LiveListError.tooManyRows(count: rows.count, limit: options.rowsMax))
        revision = nil
    }

    // MARK: Updates

    /// Returns the changes since the last call, which lead to ``rows``.
    package mutating func takeChanges() -> RowChanges { tracked.takeChanges() }
}
