package import LiveRows

/// A client's copy of a list, as a value: each input changes it and returns the effects to perform.
///
/// It has no network, clock or tasks, so every schedule can be tested. Its rows are the writer's rows with the
/// unconfirmed edits applied on top. When the writer's rows change, the replica reverts those edits, applies the change
/// and reapplies the edits.
package struct ListReplica<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// An effect to perform after an input.
    package enum Effect: Sendable {
        /// Fetch a snapshot and pass it to ``fetched(_:_:)`` with this number; the consecutive `failures` set the
        /// delay.
        case fetch(number: Int, failures: Int)
        /// Send a commit and pass a failure to ``unanswered(_:_:)`` with this number; the consecutive `failures` set
        /// the delay.
        case send(ListCommit<Row>, number: Int, failures: Int)
        /// An attempt to send an edit had no usable answer; the edit is sent again.
        case retrying(RetriedEdit<Row>)
        /// The writer has accepted an edit.
        case confirmed(mutation: String)
        /// An edit was refused or given up, and is reverted.
        case refused(ListCommit<Row>, any Error)
        /// Call ``changeIsDue()`` after ``ListOptions/changeTimeout``.
        case awaitChange
        /// Call ``restIsOver(_:)`` with this number after the time.
        case rest(number: Int, Duration)
        /// Ask the source for its revision and pass it to ``checked(_:)``.
        case check
        /// Report an error after which the list continues.
        case report(any Error)
    }

    /// An applied edit that is not confirmed.
    struct Pending: Sendable {
        let commit: ListCommit<Row>
        /// The operations that revert the edit, in the order of the edit.
        var inverses: [ListOperation<Row>]
        /// The revision in the writer's answer, until the change of that revision arrives.
        var revision: UInt64?
        /// Whether the answer arrived before the current fetch began, so that the fetched rows contain the edit.
        var isInSnapshot = false
        /// Whether the source has sent an update since the edit was sent.
        var hasNewerUpdate = false
    }

    /// The wait after a snapshot whose rows cannot be shown: the same request would have the same answer.
    private enum Rest {
        /// A change of the source ends the wait, but not before its first tenth is over.
        case short(hasChanged: Bool)
        /// A change of the source ends the wait.
        case long
    }

    /// The edit that was sent and is not answered; edits are sent one at a time.
    struct Sending: Sendable {
        let mutation: String
        /// The number of the current attempt; failures of other attempts are ignored.
        var number: Int
        /// The consecutive failures, which set the delay.
        var failures = 0
        /// The number of failed attempts, and of those that count towards the limit.
        var attempts = 0
        var countedAttempts = 0
    }

    let options: ListOptions
    package internal(set) var tracked = TrackedRows<Row>()
    /// The revision of the rows; `nil` before the first snapshot and while it is unknown.
    package private(set) var revision: UInt64?
    /// The rows of the last snapshot that could not be decoded.
    package private(set) var omittedRows: [OmittedRow] = []

    // The state.
    private var hasBegun = false
    /// Whether the source sends changes, not only snapshots.
    private var isFollowing = false
    /// The reason why the source sends nothing; `nil` while it does.
    private(set) var outage: (any Error)?
    private var failure: (any Error)?
    /// Whether the rows lack, or probably lack, a change.
    private var isBehind = false

    // Edits; see ListReplicaEdits.swift.
    var pending: [Pending] = []
    var sending: Sending?
    var sendNumber = 0
    /// The edit that is sent again after a failure.
    package internal(set) var retriedEdit: RetriedEdit<Row>?
    /// The revision whose change the replica waits for.
    var awaitedRevision: UInt64?

    // The snapshot that is being fetched.
    private(set) var isFetching = false
    private var fetchNumber = 0
    private var fetchFailures = 0
    /// Whether the fetch is only a comparison, with no change known to be missing.
    private var isComparing = false
    /// Whether a change was missed since the fetch began, so that another fetch must follow.
    private var isFetchOutdated = false
    private var unreadableEventsInRow = 0
    /// The wait for usable rows, and the number of consecutive snapshots without.
    private var rest: Rest?
    private var unusableSnapshots = 0
    /// The changes received since the fetch began, and their highest revision.
    private var buffered: [ListChange<Row>] = []
    private var highest: UInt64 = 0

    /// The number of changes of a source that does not number them, now and when the fetch began.
    private var unnumbered: UInt64 = 0
    private var unnumberedAtFetch: UInt64 = 0

    package init(options: ListOptions) { self.options = options }

    package var rows: RowList<Row> { tracked.list }
    package var pendingCount: Int { pending.count }

    package var state: ListState {
        if let outage { return .offline(outage) }
        if let failure { return .failed(failure) }
        guard revision == nil || isBehind else { return .live }
        return hasBegun ? .loading : .initial
    }

    // MARK: The connection

    /// Records that the list has begun to listen.
    package mutating func began() { hasBegun = true }

    /// Handles a new subscription: changes arrive from now on, and earlier ones may have been missed.
    package mutating func subscribed() -> [Effect] {
        // At the first subscription, rows that the source had from the start are not behind.
        isBehind = isBehind || isFollowing || outage != nil || failure != nil
        isFollowing = true
        (outage, failure) = (nil, nil)
        fetchFailures = 0
        return fetch() + retryNow()
    }

    /// Handles a resumed subscription: changes arrive again, and none was missed.
    package mutating func resumed() -> [Effect] {
        outage = nil
        if !isFetching { failure = nil }
        isFollowing = true
        let isIncomplete = (revision == nil || rest != nil) && !isFetching
        return (isIncomplete ? fetch() : []) + retryNow()
    }

    /// Records an outage until ``subscribed()`` or ``resumed()``; the rows and the edits stay.
    package mutating func disconnected(_ error: any Error) { outage = error }

    /// Handles a failure of the source; the rows stay.
    package mutating func failed(_ error: any Error) -> [Effect] {
        // The failure ends an outage: without a source there is no connection.
        (outage, failure) = (nil, error)
        return [.report(error)]
    }

    // MARK: Changes

    /// Handles a change by the writer.
    package mutating func changed(_ change: ListChange<Row>) -> [Effect] {
        unreadableEventsInRow = 0
        var effects = endRest()
        if isFetching { buffer(change) }
        guard let revision else { return effects }
        if change.revision <= revision {
            // Already applied, perhaps by a snapshot; the change may still confirm a pending edit.
            return effects + settle { $0.commit.mutation == change.mutation }
        }
        if change.revision == revision + 1 { return effects + apply(change) + catchUp() }
        guard !isFetching else { return effects }
        isBehind = true
        guard rest == nil else { return effects }
        effects += fetch()
        buffer(change)
        return effects
    }

    /// Handles a change by the writer that has no number; the list gives it the next one.
    ///
    /// The list counts for itself: another list of the same source may have received more or fewer changes.
    package mutating func changed(
        _ operations: [ListOperation<Row>],
        by mutation: String?
    ) -> [Effect] {
        unnumbered += 1
        return changed(
            ListChange(revision: unnumbered, mutation: mutation, operations: operations)
        )
    }

    /// Handles an event that could not be read: a change was missed.
    package mutating func unreadable(_ error: any Error) -> [Effect] {
        if rest == nil { failure = error }
        isBehind = true
        unreadableEventsInRow += 1
        guard !isFetching else {
            isFetchOutdated = true
            return [.report(error)]
        }
        guard rest == nil else { return [.report(error)] + endRest() }
        // Many consecutive ones delay the fetches, as failures do.
        fetchFailures = unreadableEventsInRow - 1
        return [.report(error)] + fetch()
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
        if !isFetching, rest == nil { failure = nil }
        return effects + checkRowLimit() + sendNext()
    }

    /// Applies the changes that have waited for an earlier one.
    private mutating func catchUp() -> [Effect] {
        var effects: [Effect] = []
        while let revision, highest > revision,
            let next = buffered.first(where: { $0.revision == revision + 1 })
        {
            effects += apply(next)
        }
        return effects
    }

    private func isSettled(_ edit: Pending, by change: ListChange<Row>) -> Bool {
        edit.commit.mutation == change.mutation
            || edit.revision.map { $0 <= change.revision } == true
    }

    // MARK: Snapshots

    private mutating func fetch(comparing: Bool = false) -> [Effect] {
        isFetching = true
        rest = nil
        isComparing = comparing
        isFetchOutdated = false
        fetchNumber += 1
        buffered = []
        highest = 0
        unnumberedAtFetch = unnumbered
        for index in pending.indices where pending[index].revision != nil {
            pending[index].isInSnapshot = true
        }
        return [.fetch(number: fetchNumber, failures: fetchFailures)]
    }

    /// Handles a fetched snapshot.
    package mutating func fetched(_ number: Int, _ snapshot: ListSnapshot<Row>) -> [Effect] {
        guard number == fetchNumber, isFetching else { return [] }
        var snapshot = snapshot
        snapshot.revision = max(snapshot.revision, unnumberedAtFetch)
        if isComparing, !isBehind, !isFetchOutdated, let revision, snapshot.revision < revision {
            // The snapshot comes from a cache or a replica that is behind: the rows are newer.
            isFetching = false
            return []
        }
        do {
            var effects = try install(snapshot)
            isFetching = false
            unusableSnapshots = 0
            for change in exchange(&buffered, with: []) {
                guard let revision, !isFetching, change.revision >= revision else { continue }
                effects += changed(change)
            }
            guard !isFetching, let revision else { return effects }
            if highest > revision || isFetchOutdated {
                // The snapshot lacks changes that were received or could not be read.
                fetchFailures += 1
                effects += fetch()
            } else {
                fetchFailures = 0
                (failure, isBehind) = (nil, false)
            }
            return effects
        } catch {
            isFetching = false
            return beginRest(error, hasChanged: isFetchOutdated || highest > snapshot.revision)
        }
    }

    /// Waits until the source has changed, or for a time that doubles with each snapshot, because its rows cannot be
    /// shown.
    private mutating func beginRest(_ error: any Error, hasChanged: Bool) -> [Effect] {
        failure = error
        fetchFailures = 0
        unusableSnapshots += 1
        rest = .short(hasChanged: hasChanged)
        return [.report(error), .rest(number: fetchNumber, shortRest)]
    }

    /// The time before which not even a change causes another request: from 30 seconds up to 8 minutes.
    private var shortRest: Duration { .seconds(30) * (1 << min(unusableSnapshots - 1, 4)) }

    /// Ends the wait for usable rows, if there is one, because the source has changed: now or after its first tenth.
    private mutating func endRest() -> [Effect] {
        switch rest {
        case .short:
            rest = .short(hasChanged: true)
            return []
        case .long: return fetch()
        case nil: return []
        }
    }

    /// Handles the end of a wait for usable rows.
    package mutating func restIsOver(_ number: Int) -> [Effect] {
        guard number == fetchNumber, let rest else { return [] }
        if case .short(hasChanged: false) = rest {
            self.rest = .long
            return [.rest(number: number, shortRest * 9)]
        }
        return fetch()
    }

    /// Handles a snapshot that could not be fetched or used.
    package mutating func fetchFailed(_ number: Int, _ error: any Error) -> [Effect] {
        guard number == fetchNumber, isFetching else { return [] }
        failure = error
        fetchFailures += 1
        fetchNumber += 1
        return [.report(error), .fetch(number: fetchNumber, failures: fetchFailures)]
    }

    /// Handles a snapshot from a source that sends no changes.
    package mutating func arrived(_ snapshot: ListSnapshot<Row>) -> [Effect] {
        do {
            let effects = try install(snapshot)
            (outage, failure, isBehind) = (nil, nil, false)
            return effects
        } catch {
            return failed(error)
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
        return effects + omit(snapshot.omittedRows)
    }

    /// Stores which rows could not be decoded, and reports them once.
    private mutating func omit(_ rows: [OmittedRow]) -> [Effect] {
        guard exchange(&omittedRows, with: rows) != rows, let first = rows.first else { return [] }
        return [.report(LiveListError.unreadableRows(count: rows.count, first: first))]
    }

    /// Stops following a list that has grown past the limit, until the next snapshot.
    private mutating func checkRowLimit() -> [Effect] {
        guard rows.count > options.rowsMax else { return [] }
        revision = nil
        let error = LiveListError.tooManyRows(count: rows.count, limit: options.rowsMax)
        guard isFetching || rest != nil else { return beginRest(error, hasChanged: false) }
        failure = error
        return []
    }

    // MARK: Checks

    /// Begins the periodic comparison of the rows with the source's.
    package mutating func checkIsDue() -> [Effect] {
        canCheck ? [.check] : []
    }

    /// Handles the source's revision; for `nil` all rows are compared.
    package mutating func checked(_ current: UInt64?) -> [Effect] {
        guard canCheck, let revision else { return canCheck ? fetch() : [] }
        guard let current else { return fetch(comparing: true) }
        return current > revision ? fetch(comparing: true) : []
    }

    private var canCheck: Bool { isFollowing && !isFetching && rest == nil && outage == nil }

    /// Handles the end of the wait for the change of an accepted edit.
    package mutating func changeIsDue() -> [Effect] {
        guard let awaited = awaitedRevision.take(), let revision,
            let accepted = acceptedRevision, accepted > revision
        else { return [] }
        // The wait was for an earlier edit, whose change has arrived.
        guard awaited > revision else { return awaitChange() }
        // An own edit has changed the rows.
        guard rest == nil else { return endRest() }
        guard canCheck else { return [] }
        isBehind = true
        return fetch()
    }

    // MARK: Updates

    /// Returns the changes since the last call, which lead to ``rows``.
    package mutating func takeChanges() -> RowChanges { tracked.takeChanges() }
}
