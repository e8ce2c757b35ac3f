import Dispatch
package import GRDB
import HTTP1
import LiveRows
import Synchronization

/// The result of a query as a live list: the database is the one source of truth, whoever writes to it.
///
///     let open = PublishedQuery<ToDo>(channel: "to-do-open", outbox: backstage.outbox)
///     open.follow(backstage.database) { database in … }
///     return [open.route("open")]
///
/// The query is observed. Each time its result has changed it is compared with the one before, and what differs is
/// told as `list_changed`; nobody who writes has to tell anything. Clients read it like any other live list.
package final class PublishedQuery<Row: ListRow>: Sendable {
    private struct State {
        var revisions = QueryRevisions<Row>()
        /// Why there is no further result at present.
        var failure: String?
        var observation: AnyDatabaseCancellable?
        var waiters: [(version: Int64, waiter: CheckedContinuation<Void, Never>)] = []

        /// Whether this version was told, or cannot be.
        func hasReached(_ version: Int64) -> Bool {
            failure != nil || revisions.result.map { $0.version >= version } ?? false
        }

        /// The waiters whose wait is over.
        mutating func released() -> [CheckedContinuation<Void, Never>] {
            let (reached, waiting) = (waiters.filter { hasReached($0.version) }, waiters)
            waiters = waiting.filter { !hasReached($0.version) }
            return reached.map(\.waiter)
        }
    }

    /// The event that tells that the query cannot be observed, with `{"error": "…"}`.
    package static var failureEvent: String { "list_failed" }
    /// How long to wait before a query that has failed is observed again.
    private static var pause: Duration { .seconds(1) }

    private let channel: String
    private let outbox: Outbox
    private let limits: ListLimits
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "PublishedQuery")

    /// Prepares the list; it is empty until it follows a query.
    ///
    /// - Parameters:
    ///   - channel: The channel on which changes are told.
    ///   - outbox: The way to the broker.
    ///   - limits: How large an event may be.
    package init(channel: String, outbox: Outbox, limits: ListLimits = ListLimits()) {
        self.channel = channel
        self.outbox = outbox
        self.limits = limits
    }

    /// Observes a query, from now on until this object is gone.
    ///
    /// - Parameters:
    ///   - database: Where it is asked.
    ///   - query: Fetches the result; whatever it reads is observed. The version of the first result must be higher
    ///     than all revisions that were told before, by at least two: then every client sees that it must load.
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
            onChange: { [weak self] in self?.take($0) }
        )
        state.withLock { $0.observation = observation }
    }

    /// The rows and the revision that they are of, as they were told last.
    package func snapshot() async throws(RequestError) -> ListSnapshot<Row> {
        await reach(.min)
        let (revisions, failure) = state.withLock { ($0.revisions, $0.failure) }
        guard let result = revisions.result, failure == nil else {
            throw .refused(503, "The query cannot be answered: \(failure ?? "no result").")
        }
        return ListSnapshot(revision: revisions.revision, rows: result.rows)
    }

    /// The revision of the list that has a change of the database in it, which may still have to be observed.
    ///
    /// - Parameter version: The database's version after the change.
    /// - Returns: The revision; that of the last result when the query cannot be observed.
    package func revision(with version: Int64) async -> Int64 {
        await reach(version)
        return state.withLock { $0.revisions.revision }
    }

    /// Waits until a version was told, or cannot be.
    private func reach(_ version: Int64) async {
        await withCheckedContinuation { waiter in
            let isReached = state.withLock { state in
                if state.hasReached(version) { return true }
                state.waiters.append((version, waiter))
                return false
            }
            if isReached { waiter.resume() }
        }
    }

    // Called on the queue, one after the other.

    // Told under the lock: whoever sees a revision knows that its event is on the way.

    private func take(_ result: QueryResult<Row>) {
        let waiters = state.withLock { state in
            var change = state.revisions.advance(to: result, lengthMax: limits.eventLengthMax)
            // That the query is answered again is news as well.
            if change == nil, state.failure != nil { change = state.revisions.repeated() }
            state.failure = nil
            if let change { tell(PublishedList<Row>.event, change) }
            return state.released()
        }
        for waiter in waiters { waiter.resume() }
    }

    private func fail(_ error: any Error) {
        let sentence = (error as? DatabaseError)?.message ?? "\(error)"
        let waiters = state.withLock { state in
            state.failure = sentence
            tell(Self.failureEvent, ["error": "The query cannot be answered: \(sentence)."])
            return state.released()
        }
        for waiter in waiters { waiter.resume() }
    }

    private func tell(_ event: String, _ value: some Encodable) {
        // A value of texts and integers always has a form in JSON.
        guard let data = try? JSONText.encode(value) else { return }
        outbox.post(Announcement(event, on: channel, data: data, isRepeatable: true))
    }
}
