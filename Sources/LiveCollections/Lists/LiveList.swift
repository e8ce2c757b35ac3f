public import FanfareClient
public import LiveRows

internal import Foundation

/// A list whose rows follow their source and are edited optimistically.
///
/// The rows are the source's, with unconfirmed edits applied on top. Each update contains all rows and the changes that
/// lead to them, in the form of a table view's batch. A refused edit is reverted and reported.
///
/// Releasing the list ends its connection to the source.
@MainActor public final class LiveList<Row: LiveRow> where Row.ID: Sendable {
    /// The rows of the last update.
    public private(set) var rows = RowList<Row>()
    /// The state of the last update.
    public private(set) var state = ListState.initial

    private let source: any LiveSource<Row>
    private let options: ListOptions
    private var replica: ListReplica<Row>
    private(set) var updateNumber = 0
    let signals = UpdateSignals()
    private let observers = Observers<ListUpdate<Row>>()
    private let refusals = Observers<RefusedEdit<Row>>()
    private var isDelivering = false
    /// The unconfirmed edits, by mutation.
    private var pendingEdits: [String: PendingEdit] = [:]
    private let tasks = TaskBag()

    /// Creates a list that listens to its source.
    ///
    /// - Parameters:
    ///   - source: The source of the rows and target of the edits.
    ///   - options: Limits and retry delays.
    public init(_ source: some LiveSource<Row>, options: ListOptions = ListOptions()) {
        self.source = source
        self.options = options
        replica = ListReplica(options: options)
        if let snapshot = source.initial() { perform(replica.arrived(snapshot)) }
        replica.began()
        deliver()
        listen()
    }

    deinit {
        let waited = pendingEdits
        Task { @MainActor in
            for edit in waited.values { edit.end(.failure(LiveListError.ended)) }
        }
    }

    /// The number of unconfirmed edits.
    public var pendingEditCount: Int { replica.pendingCount }

    /// The revision of the source's rows; `nil` before they are loaded.
    public var revision: UInt64? { replica.revision }

    /// The row with an id, or `nil`.
    public func row(_ id: Row.ID) -> Row? { replica.tracked.keyed[id] }

    /// The index of the row with an id, or `nil`.
    public func index(of id: Row.ID) -> Int? { replica.tracked.keyed.index(of: id) }

    // MARK: Edits

    /// Edits the list: all operations show immediately, as one batch, and are sent as one commit.
    ///
    /// ```
    /// list.edit { $0.move(dragged.id, after: target.id) }
    /// ```
    ///
    /// The closure works on a copy of the rows, and its operations are applied to the list when it has returned. So it can
    /// read the list, and an edit of the list inside the closure comes first.
    ///
    /// - Parameter body: Edits the rows.
    /// - Returns: The pending edit; ``PendingEdit/confirmed()`` waits for its result.
    @discardableResult
    public func edit(_ body: (inout ListEditor<Row>) -> Void) -> PendingEdit {
        let mutation = UUID().uuidString.lowercased()
        let (operations, ifRevision) = operations(of: body)
        let before = replica.pendingCount
        let effects = replica.commit(operations, ifRevision: ifRevision, mutation: mutation)
        let isRefused = effects.contains { if case .refused = $0 { true } else { false } }
        let isPending = replica.pendingCount > before || isRefused
        let edit = PendingEdit(mutation: isPending ? mutation : nil)
        if isPending { pendingEdits[mutation] = edit }
        deliver()
        perform(effects)
        return edit
    }

    /// Runs an edit's closure on a copy of the rows, which is released before the list's own rows change: while both
    /// exist, a change of one copies what they share.
    private func operations(
        of body: (inout ListEditor<Row>) -> Void
    ) -> (operations: [ListOperation<Row>], ifRevision: UInt64?) {
        var editor = replica.editor()
        body(&editor)
        return (editor.operations, editor.ifRevision)
    }

    // MARK: Updates

    /// Calls back with each update, synchronously on the main actor, as table views require.
    ///
    /// The first call happens before this method returns, with all rows as insertions.
    ///
    /// - Parameter perform: Called with the update. It may edit the list, which causes another update afterwards.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observe(_ perform: @escaping (ListUpdate<Row>) -> Void) -> ListenerToken {
        let token = observers.add(perform)
        perform(update(from: RowList()))
        return token
    }

    /// Calls back with each edit that was refused and reverted.
    ///
    /// - Parameter perform: Called with the edit and the reason.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observeRefusals(
        _ perform: @escaping (RefusedEdit<Row>) -> Void
    ) -> ListenerToken {
        refusals.add(perform)
    }

    /// The updates as a sequence: all rows first, then the changes.
    ///
    /// A slow reader gets fewer and larger updates, each relative to the one read before.
    public var updates: ListUpdates<Row> { ListUpdates(self) }

    /// Waits until the rows are loaded and follow every change; a failed source is retried.
    public func waitUntilLive() async {
        for await update in updates where update.state.isLive { return }
    }

    /// Returns an update from other rows to the current ones.
    func update(from old: RowList<Row>) -> ListUpdate<Row> {
        ListUpdate(
            rows: rows,
            changes: changes(from: old, to: rows),
            state: state,
            number: updateNumber
        )
    }

    // MARK: The source

    private func listen() {
        let queue = SourceEventQueue<Row> { [weak self] events in self?.handle(events) }
        tasks.add { [source, options, weak self] in
            var failures = 0
            while !Task.isCancelled {
                do {
                    try await source.listen { await queue.enqueue($0) }
                    return
                } catch {
                    if Task.isCancelled { return }
                    await queue.enqueue(.failed(error))
                }
                guard self != nil, await Self.wait(failures, options) else { return }
                failures += 1
            }
        }
    }

    private func handle(_ events: [SourceEvent<Row>]) {
        var effects: [ListReplica<Row>.Effect] = []
        for event in events {
            switch event {
            case .subscribed: effects += replica.subscribed()
            case .change(let change): effects += replica.changed(change)
            case .snapshot(let snapshot): effects += replica.arrived(snapshot)
            case .failed(let error): replica.failed(error)
            }
        }
        deliver()
        perform(effects)
    }

    private func perform(_ effects: [ListReplica<Row>.Effect]) {
        for effect in effects {
            switch effect {
            case .fetch(let number, let failures): fetch(number, failures)
            case .send(let commit, let failures): send(commit, failures)
            case .confirmed(let mutation):
                pendingEdits.removeValue(forKey: mutation)?.end(.success(()))
            case .refused(let commit, let error):
                pendingEdits.removeValue(forKey: commit.mutation)?.end(.failure(error))
                let refusal = RefusedEdit(commit: commit, error: error)
                refusals.send(refusal)
            }
        }
    }

    private func apply(_ input: (inout ListReplica<Row>) -> [ListReplica<Row>.Effect]) {
        let effects = input(&replica)
        deliver()
        perform(effects)
    }

    private func fetch(_ number: Int, _ failures: Int) {
        tasks.add { [source, options, weak self] in
            guard await Self.wait(failures - 1, options) else { return }
            do {
                let snapshot = try await source.snapshot()
                self?.apply { $0.fetched(number, snapshot) }
            } catch {
                self?.apply { $0.fetchFailed(number, error) }
            }
        }
    }

    private func send(_ commit: ListCommit<Row>, _ failures: Int) {
        tasks.add { [source, options, weak self] in
            guard await Self.wait(failures - 1, options) else { return }
            do {
                let revision = try await source.commit(commit)
                self?.apply { $0.accepted(commit.mutation, revision: revision) }
            } catch let error as LiveListError {
                self?.apply { $0.refused(commit.mutation, error) }
            } catch {
                self?.apply { $0.unanswered(commit.mutation) }
            }
        }
    }

    /// Waits for the retry delay; with `failures` below zero, for the first attempt, not at all.
    ///
    /// - Returns: Whether to continue: `false` after a cancellation.
    private static func wait(_ failures: Int, _ options: ListOptions) async -> Bool {
        guard failures >= 0 else { return !Task.isCancelled }
        var random = SystemRandomNumberGenerator()
        let delay = options.backoff.delay(failures: failures, using: &random)
        return (try? await options.clock.sleep(options.clock.now() + delay)) != nil
    }

    // MARK: Delivery

    /// Sends an update, if anything has changed since the last one.
    private func deliver() {
        // An edit by an observer is delivered to all observers in the next iteration.
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while let update = nextUpdate() {
            observers.send(update)
            signals.send()
        }
    }

    private func nextUpdate() -> ListUpdate<Row>? {
        let changes = replica.takeChanges()
        guard !changes.isEmpty || !isSame(state, replica.state) else { return nil }
        rows = replica.rows
        state = replica.state
        updateNumber += 1
        return ListUpdate(rows: rows, changes: changes, state: state, number: updateNumber)
    }

    private func isSame(_ left: ListState, _ right: ListState) -> Bool {
        switch (left, right) {
        case (.initial, .initial), (.loading, .loading), (.live, .live): true
        case (.failed(let old), .failed(let new)): "\(old)" == "\(new)"
        default: false
        }
    }
}

/// The limits and retry delays of a list.
public struct ListOptions: Sendable {
    /// The maximum number of rows; a larger snapshot is an error, an edit beyond it is refused.
    public var rowsMax = 100_000
    /// The maximum number of unconfirmed edits; one more is refused.
    public var pendingEditsMax = 256
    /// The maximum number of operations of an edit.
    public var operationsMax = 1024
    /// The maximum number of changes buffered while a snapshot is fetched; with more, another is fetched.
    public var bufferedChangesMax = 4096
    /// The delays of retries: of snapshots, of commits without an answer, of a failed source.
    public var backoff = Backoff()
    /// The clock.
    public var clock = ClientClock.continuous

    /// Creates the default options.
    public init() {}
}
