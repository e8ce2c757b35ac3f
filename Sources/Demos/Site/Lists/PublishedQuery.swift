import Dispatch
package import GRDB
import HTTP1
import LiveRows
import Synchronization

/// The result of a query as a live list: the database is the single source of truth.
///
///     let open = PublishedQuery<ToDo>(channel: "to-do-open", outbox: environment.outbox)
///     open.follow(environment.database) { database in … }
///     return [open.route("open")]
///
/// The query is observed. Each new result is compared with the previous one, and the difference is published as
/// `list_changed`; writers publish nothing themselves. For clients it is a live list like any other.
package final class PublishedQuery<Row: ListRow>: Sendable {
    private struct State {
        var revisions = QueryRevisions<Row>()
        /// The error, while the query fails.
        var failure: String?
        var observation: AnyDatabaseCancellable?
        var waiters: [(version: Int64, waiter: CheckedContinuation<Void, Never>)] = []

        /// Whether this version was published, or the query has failed.
        func hasReached(_ version: Int64) -> Bool {
            failure != nil || revisions.result.map { $0.version >= version } ?? false
        }

        /// Removes and returns the waiters whose version is reached.
        mutating func removeReached() -> [CheckedContinuation<Void, Never>] {
            let (reached, waiting) = (waiters.filter { hasReached($0.version) }, waiters)
            waiters = waiting.filter { !hasReached($0.version) }
            return reached.map(\.waiter)
        }
    }

    /// The event for a failed query, with `{"error": "…"}`.
    package static var failureEvent: String { "list_failed" }
    /// The delay before a failed query is observed again.
    private static var pause: Duration { .seconds(1) }

    private let channel: String
    private let outbox: Outbox
    private let limits: ListLimits
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "PublishedQuery")

    /// Creates a list that is empty until it follows a query.
    package init(channel: String, outbox: Outbox, limits: ListLimits = ListLimits()) {
        self.channel = channel
        self.outbox = outbox
        self.limits = limits
    }

    /// Observes a query until the object is released.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - query: Fetches the result; everything that it reads is observed. The version of the first result must exceed
    ///     all earlier revisions by at least two, so that every client detects a gap and reloads.
    package func follow(
        _ database: DatabaseQueue,
        _ query: @escaping @Sendable (Database) throws -> QueryResult<Row>
    ) {
        let observation = ValueObservation.tracking(query).start(
            in: database,
            scheduling: .async(onQueue: queue),
            onError: { [weak self] error in
                self?.fail(error)
                Task {
                    try? await Task.sleep(for: Self.pause)
                    self?.follow(database, query)
                }
            },
            onChange: { [weak self] in self?.handle($0) }
        )
        state.withLock { $0.observation = observation }
    }

    /// Returns the last published rows and their revision.
    package func snapshot() async throws(RequestError) -> ListSnapshot<Row> {
        await waitForVersion(.min)
        let (revisions, failure) = state.withLock { ($0.revisions, $0.failure) }
        guard let result = revisions.result, failure == nil else {
            throw .refused(503, "The query cannot be answered: \(failure ?? "no result").")
        }
        return ListSnapshot(revision: revisions.revision, rows: result.rows)
    }

    /// Waits for a change of the database, and returns the list's revision with it; the last one if the query fails.
    package func revision(with version: Int64) async -> Int64 {
        await waitForVersion(version)
        return state.withLock { $0.revisions.revision }
    }

    /// Waits until a version is published or the query has failed.
    private func waitForVersion(_ version: Int64) async {
        await withCheckedContinuation { waiter in
            let isReached = state.withLock { state in
                if state.hasReached(version) { return true }
                state.waiters.append((version, waiter))
                return false
            }
            if isReached { waiter.resume() }
        }
    }

    // Called on the serial queue.

    // Published under the lock: if a revision is visible, its event was posted.

    private func handle(_ result: QueryResult<Row>) {
        let waiters = state.withLock { state in
            var change = state.revisions.advance(to: result, lengthMax: limits.eventLengthMax)
            // An empty change reports that the query has recovered.
            if change == nil, state.failure != nil { change = state.revisions.recovered() }
            state.failure = nil
            if let change { publish(PublishedList<Row>.event, change) }
            return state.removeReached()
        }
        for waiter in waiters { waiter.resume() }
    }

    private func fail(_ error: any Error) {
        let sentence = (error as? DatabaseError)?.message ?? "\(error)"
        let waiters = state.withLock { state in
            state.failure = sentence
            publish(Self.failureEvent, ["error": "The query cannot be answered: \(sentence)."])
            return state.removeReached()
        }
        for waiter in waiters { waiter.resume() }
    }

    private func publish(_ event: String, _ value: some Encodable) {
        // Text and integers can always be encoded.
        guard let data = try? JSONText.encode(value) else { return }
        // A client detects a missing event by its revision, and reloads.
        try? outbox.post(OutgoingEvent(event, on: channel, data: data))
    }
}
