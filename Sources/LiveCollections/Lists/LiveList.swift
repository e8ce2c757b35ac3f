public import LiveRows

internal import FanfareClient
internal import Foundation

/// A list whose rows follow their source, and that can be edited without waiting for it.
///
/// The rows are the source's, with edits that are not confirmed yet on top. Each update carries the
/// rows that it leads to and the changes that lead there, as a table view wants them. An edit that
/// is refused is taken back: the rows spring back, and the error is told.
///
/// The list lives as long as somebody holds it; then it lets go of its source.
@MainActor public final class LiveList<Row: LiveRow> where Row.ID: Sendable {
    /// The rows, as the last update told them.
    public private(set) var rows = RowList<Row>()
    /// Where the list stands with its source, as the last update told it.
    public private(set) var state = ListState.initial

    private let source: any LiveSource<Row>
    private let options: ListOptions
    private var replica: ListReplica<Row>
    private(set) var updateNumber = 0
    let signals = UpdateSignals()
    private var observers = Observers<ListUpdate<Row>>()
    private var refusals = Observers<RefusedEdit<Row>>()
    private var isTelling = false
    /// The edits that somebody may wait for, by their mutation.
    private var sent: [String: PendingEdit] = [:]
    private let tasks = TaskBag()

    /// Makes a list, and begins to listen to its source.
    ///
    /// - Parameters:
    ///   - source: Where the rows come from, and where edits go.
    ///   - options: Limits, and when to try again.
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
        let waited = sent
        Task { @MainActor in
            for edit in waited.values { edit.end(.failure(LiveListError.ended)) }
        }
    }

    /// How many edits wait for their confirmation.
    public var pendingEditCount: Int { replica.pendingCount }

    /// The revision of the source's rows; `nil` before they are there.
    public var revision: UInt64? { replica.revision }

    /// The row of an id, or `nil`.
    public func row(_ id: Row.ID) -> Row? { replica.tracked.keyed[id] }

    /// Where the row of an id stands, or `nil`.
    public func index(of id: Row.ID) -> Int? { replica.tracked.keyed.index(of: id) }

    // MARK: Edits

    /// Edits the list: it shows at once, as one batch, and is handed in under one name.
    ///
    /// ```
    /// list.edit { $0.move(dragged.id, after: target.id) }
    /// ```
    ///
    /// - Parameter body: Makes the edit.
    /// - Returns: The edit on its way; whoever wants to know waits for ``PendingEdit/confirmed()``.
    @discardableResult
    public func edit(_ body: (inout ListEditor<Row>) -> Void) -> PendingEdit {
        let mutation = UUID().uuidString.lowercased()
        let before = replica.pendingCount
        var refusal: (any Error)?
        let effects = replica.edit(mutation: mutation, body)
        for case .refused(_, let error) in effects { refusal = error }
        let edit = PendingEdit(
            mutation: replica.pendingCount > before || refusal != nil ? mutation : nil
        )
        sent[mutation] = edit.mutation == nil ? nil : edit
        deliver()
        perform(effects)
        return edit
    }

    // MARK: Updates

    /// Calls back with each update, at once and on the main actor: what a table view needs.
    ///
    /// The first call comes before this returns, with all rows as insertions.
    ///
    /// - Parameter perform: Shows the update. It may edit the list; that is told afterwards.
    /// - Returns: What to keep as long as the callback is wanted.
    public func observe(_ perform: @escaping (ListUpdate<Row>) -> Void) -> Observation<
        ListUpdate<Row>
    > {
        let observation = observers.add(perform)
        observation.tell(update(from: RowList()))
        return observation
    }

    /// Calls back with each edit that is refused and has been taken back.
    ///
    /// - Parameter perform: Tells the user.
    /// - Returns: What to keep as long as the callback is wanted.
    public func observeRefusals(
        _ perform: @escaping (RefusedEdit<Row>) -> Void
    ) -> Observation<RefusedEdit<Row>> {
        refusals.add(perform)
    }

    /// The updates as a sequence: all rows first, then what changes.
    ///
    /// Who reads slowly gets fewer and larger updates; each leads from the one read before.
    public var updates: ListUpdates<Row> { ListUpdates(self) }

    /// Waits until the rows are there and follow every change; a source that fails is tried again.
    public func waitUntilLive() async {
        for await update in updates where update.state.isLive { return }
    }

    /// What leads to the rows from others.
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
        let mailbox = SourceMailbox<Row> { [weak self] events in self?.take(events) }
        tasks.add { [source, options, weak self] in
            var failures = 0
            while !Task.isCancelled {
                do {
                    try await source.listen { await mailbox.put($0) }
                    return
                } catch {
                    if Task.isCancelled { return }
                    await mailbox.put(.failed(error))
                }
                guard self != nil, await Self.wait(failures, options) else { return }
                failures += 1
            }
        }
    }

    private func take(_ events: [SourceEvent<Row>]) {
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
            case .confirmed(let mutation): sent.removeValue(forKey: mutation)?.end(.success(()))
            case .refused(let commit, let error):
                sent.removeValue(forKey: commit.mutation)?.end(.failure(error))
                let refusal = RefusedEdit(commit: commit, error: error)
                for observation in refusals.present { observation.tell(refusal) }
            }
        }
    }

    private func answer(_ input: (inout ListReplica<Row>) -> [ListReplica<Row>.Effect]) {
        let effects = input(&replica)
        deliver()
        perform(effects)
    }

    private func fetch(_ number: Int, _ failures: Int) {
        tasks.add { [source, options, weak self] in
            guard await Self.wait(failures - 1, options) else { return }
            do {
                let snapshot = try await source.snapshot()
                self?.answer { $0.fetched(number, snapshot) }
            } catch {
                self?.answer { $0.fetchFailed(number, error) }
            }
        }
    }

    private func send(_ commit: ListCommit<Row>, _ failures: Int) {
        tasks.add { [source, options, weak self] in
            guard await Self.wait(failures - 1, options) else { return }
            do {
                let revision = try await source.commit(commit)
                self?.answer { $0.accepted(commit.mutation, revision: revision) }
            } catch let error as LiveListError {
                self?.answer { $0.refused(commit.mutation, error) }
            } catch {
                self?.answer { $0.unanswered(commit.mutation) }
            }
        }
    }

    /// Waits before something is tried again; below zero it is tried for the first time.
    ///
    /// - Returns: Whether to go on.
    private static func wait(_ failures: Int, _ options: ListOptions) async -> Bool {
        guard failures >= 0 else { return !Task.isCancelled }
        var random = SystemRandomNumberGenerator()
        let delay = options.backoff.delay(failures: failures, using: &random)
        return (try? await options.clock.sleep(options.clock.now() + delay)) != nil
    }

    // MARK: Telling

    /// Tells what has changed since the last time, if anything has.
    private func deliver() {
        // An observer that edits the list is told of that in the next round, as all others are.
        guard !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while let update = nextUpdate() {
            for observation in observers.present { observation.tell(update) }
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
