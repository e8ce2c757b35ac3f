package import LiveRows

/// A client's copy of a list, as a value: what comes in changes it and says what is to be done.
///
/// It knows no network, no clock and no task, so all schedules can be tried. Its rows are those of
/// the writer with the edits that the writer has not confirmed yet on top. When the writer's rows
/// change, those edits are taken back, the change is applied, and they are made again.
package struct ListReplica<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// What is to be done after an input.
    package enum Effect: Sendable {
        /// A snapshot is to be fetched, and to be given to ``fetched(_:_:)`` with its number.
        case fetch(number: Int, failures: Int)
        /// A commit is to be handed in; `failures` is how often that had no answer.
        case send(ListCommit<Row>, failures: Int)
        /// The writer has taken an edit in.
        case confirmed(mutation: String)
        /// An edit is taken back.
        case refused(ListCommit<Row>, any Error)
    }

    /// An edit that is shown and not confirmed.
    struct Pending: Sendable {
        let commit: ListCommit<Row>
        /// What takes the edit back, in the order in which it was made.
        var inverses: [ListOperation<Row>]
        /// The revision that the writer's answer named, until the change of that revision is here.
        var revision: UInt64?
        /// Whether the answer came before the fetch that is going on, whose rows then contain it.
        var isInSnapshot = false
        /// Whether the source has told something since the edit was handed in.
        var isOvertaken = false
    }

    private let options: ListOptions
    package private(set) var tracked = TrackedRows<Row>()
    package private(set) var state = ListState.initial
    /// The revision that the rows are of; `nil` before the first snapshot, and while it is unknown.
    package private(set) var revision: UInt64?
    private(set) var pending: [Pending] = []
    /// The edit that was handed in and not answered; they are handed in one after the other.
    private var sending: (mutation: String, failures: Int)?

    private var isFetching = false
    private var fetchNumber = 0
    private var fetchFailures = 0
    /// Changes that came since the fetch began, and the highest revision of any.
    private var buffered: [ListChange<Row>] = []
    private var highest: UInt64 = 0

    package init(options: ListOptions) { self.options = options }

    package var rows: RowList<Row> { tracked.list }
    package var pendingCount: Int { pending.count }

    // MARK: The source

    /// The list begins to listen.
    package mutating func began() {
        if case .live = state { return }
        state = .loading
    }

    /// Changes are told from here on; what was before may have been missed.
    package mutating func subscribed() -> [Effect] {
        fetchFailures = 0
        return fetch() + sendAgain()
    }

    /// Hands an edit in at once that waits to be tried again: the network is back.
    private mutating func sendAgain() -> [Effect] {
        guard let last = sending, last.failures > 0,
            let edit = pending.first(where: { $0.commit.mutation == last.mutation })
        else { return [] }
        sending = (last.mutation, 0)
        return [.send(edit.commit, failures: 0)]
    }

    /// The source is in trouble; the rows stay.
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
            // Seen already, in a snapshot perhaps; but it may tell of an edit that still waits.
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
        overtake()
        rebase(without: Set(settled)) { tracked in
            for operation in change.operations { _ = tracked.apply(operation) }
        }
        revision = change.revision
        state = .live
        checkCount()
        return effects + sendNext()
    }

    private func isSettled(_ edit: Pending, by change: ListChange<Row>) -> Bool {
        edit.commit.mutation == change.mutation
            || edit.revision.map { $0 <= change.revision } == true
    }

    /// A snapshot that was fetched.
    package mutating func fetched(_ number: Int, _ snapshot: ListSnapshot<Row>) -> [Effect] {
        guard number == fetchNumber, isFetching else { return [] }
        do {
            var effects = try take(snapshot)
            isFetching = false
            for change in exchange(&buffered, with: []) {
                guard let revision, !isFetching, change.revision >= revision else { continue }
                effects += changed(change)
            }
            if !isFetching, let revision, highest > revision {
                // Changes were told that the snapshot does not contain, and one is missing.
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

    /// A snapshot could not be fetched, or not be used.
    package mutating func fetchFailed(_ number: Int, _ error: any Error) -> [Effect] {
        guard number == fetchNumber, isFetching else { return [] }
        state = .failed(error)
        fetchFailures += 1
        fetchNumber += 1
        return [.fetch(number: fetchNumber, failures: fetchFailures)]
    }

    /// All rows, from a source that tells no changes.
    package mutating func arrived(_ snapshot: ListSnapshot<Row>) -> [Effect] {
        do {
            return try take(snapshot)
        } catch {
            state = .failed(error)
            return []
        }
    }

    private mutating func take(_ snapshot: ListSnapshot<Row>) throws -> [Effect] {
        guard snapshot.rows.count <= options.rowsMax else {
            throw LiveListError.tooManyRows(count: snapshot.rows.count, limit: options.rowsMax)
        }
        let rows = try KeyedRows(snapshot.rows)
        let settled = pending.indices.filter { index in
            let edit = pending[index]
            return edit.isInSnapshot || edit.revision.map { $0 <= snapshot.revision } == true
        }
        let effects = confirm(settled)
        overtake()
        rebase(without: Set(settled)) { $0.replace(rows) }
        revision = snapshot.revision
        state = .live
        return effects
    }

    // MARK: Edits

    /// Makes an edit, which shows at once.
    package mutating func edit(
        mutation: String,
        _ body: (inout ListEditor<Row>) -> Void
    ) -> [Effect] {
        var editor = ListEditor(exchange(&tracked, with: TrackedRows()))
        body(&editor)
        tracked = editor.tracked
        guard !editor.operations.isEmpty else { return [] }
        let commit = ListCommit(
            mutation: mutation,
            operations: editor.operations,
            ifRevision: editor.ifRevision
        )
        if let error = excess(of: editor) {
            for inverse in editor.inverses.reversed() { _ = tracked.apply(inverse) }
            return [.refused(commit, error)]
        }
        pending.append(Pending(commit: commit, inverses: editor.inverses))
        return sendNext()
    }

    private func excess(of editor: ListEditor<Row>) -> LiveListError? {
        if pending.count >= options.pendingEditsMax {
            return .tooManyPendingEdits(limit: options.pendingEditsMax)
        }
        if editor.operations.count > options.operationsMax {
            return .tooManyOperations(
                count: editor.operations.count,
                limit: options.operationsMax
            )
        }
        let hasPut = editor.operations.contains { if case .put = $0 { true } else { false } }
        guard hasPut, editor.rows.count > options.rowsMax else { return nil }
        return .tooManyRows(count: editor.rows.count, limit: options.rowsMax)
    }

    /// The writer has taken an edit in, as the change of a revision, or of none that is known.
    package mutating func accepted(_ mutation: String, revision: UInt64?) -> [Effect] {
        answered(mutation)
        // An edit that was handed in twice is answered twice: the first answer counts.
        guard let index = unansweredIndex(of: mutation) else { return sendNext() }
        var effects: [Effect] = [.confirmed(mutation: mutation)]
        if let revision {
            pending[index].revision = revision
            if let own = self.revision, revision <= own {
                rebase(without: [index]) { _ in }
            }
        } else {
            // What the source has told meanwhile contains the edit, or what it tells next does. Until
            // then the edit counts as the source's.
            let operations = pending[index].isOvertaken ? [] : pending[index].commit.operations
            rebase(without: [index]) { tracked in
                for operation in operations { _ = tracked.apply(operation) }
            }
        }
        effects += sendNext()
        return effects
    }

    /// The writer does not take an edit in: the rows spring back.
    package mutating func refused(_ mutation: String, _ error: any Error) -> [Effect] {
        answered(mutation)
        guard let index = unansweredIndex(of: mutation) else { return sendNext() }
        let commit = pending[index].commit
        rebase(without: [index]) { _ in }
        return [.refused(commit, error)] + sendNext()
    }

    /// There was no answer to a commit: it is handed in again, under the same name.
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

    /// Hands in the next edit, when the one before is answered.
    private mutating func sendNext() -> [Effect] {
        guard sending == nil, let next = pending.first(where: { $0.revision == nil }) else {
            return []
        }
        sending = (next.commit.mutation, 0)
        return [.send(next.commit, failures: 0)]
    }

    /// Drops the edits that turn out to be in the rows already.
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
            // The answer has confirmed it already, if it named a revision.
            if edit.revision == nil {
                effects.append(.confirmed(mutation: edit.commit.mutation))
            }
        }
        return effects
    }

    /// Notes that the source tells something while an edit is on its way.
    private mutating func overtake() {
        guard let sending else { return }
        for index in pending.indices where pending[index].commit.mutation == sending.mutation {
            pending[index].isOvertaken = true
        }
    }

    /// Takes the pending edits back, changes the rows of the writer, and makes the edits again.
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

    /// A writer that lets the list grow past the limit is not followed any further.
    private mutating func checkCount() {
        guard rows.count > options.rowsMax else { return }
        state = .failed(LiveListError.tooManyRows(count: rows.count, limit: options.rowsMax))
        revision = nil
    }

    // MARK: What is shown

    /// The changes since the last call; the rows they lead to are ``rows``.
    package mutating func takeChanges() -> RowChanges { tracked.takeChanges() }
}
