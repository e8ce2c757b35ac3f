package import LiveRows

/// The single writer of a live list; it publishes each commit, in order.
///
///     let films = PublishedList<Film>(ListStore(environment.database), channel: "films", outbox: environment.outbox)
///     return await films.routes(below: "rows")
///
/// The HTTP API and the event for clients:
/// - `GET rows` returns `{"revision": 13, "rows": […]}`.
/// - `POST rows/operations` takes `{"mutation": "…", "operations": […]}` and returns `{"revision": 14}`. If nothing was
///   changed, it returns a 4xx status with `{"error": "…"}`. A repeated mutation returns its revision and is not
///   applied again. With `"ifRevision": 13` it is applied only if the list has not changed since.
/// - The event `list_changed` on the list's channel contains each commit.
package actor PublishedList<Row: ListRow> {
    /// Returns further events for a commit, for clients that do not support `list_changed`.
    ///
    /// - Parameters:
    ///   - commit: The commit.
    ///   - device: The sender's device ID in such events.
    /// - Returns: The events, in order.
    package typealias Translation =
        @Sendable (_ commit: ListCommit<Row>, _ device: String) throws -> [OutgoingEvent]

    /// The event with a commit.
    package nonisolated static var event: String { "list_changed" }

    private let store: ListStore<Row>
    private let channel: String
    private let outbox: Outbox
    private let translate: Translation

    /// Creates the list's only writer; `translate` returns further events for each commit.
    package init(
        _ store: ListStore<Row>,
        channel: String,
        outbox: Outbox,
        translate: @escaping Translation = { _, _ in [] }
    ) {
        self.store = store
        self.channel = channel
        self.outbox = outbox
        self.translate = translate
    }

    /// Returns the rows and their revision.
    package func snapshot() throws -> ListSnapshot<Row> { try store.snapshot() }

    /// Applies an edit and publishes it.
    ///
    /// - Parameters:
    ///   - mutation: The client's ID of the edit; a repeated edit is not applied again.
    ///   - device: The sender, by which clients recognise their own changes; the mutation by default.
    ///   - expected: The revision that the list must have; `nil` for any.
    ///   - decide: Returns the operations for the current rows.
    /// - Returns: The commit; `nil` if this mutation was committed before.
    /// - Throws: A ``RequestError``, an error of `decide`, or a `DatabaseError` of GRDB.
    @discardableResult package func commit(
        _ mutation: String? = nil,
        by device: String? = nil,
        ifRevision expected: Int64? = nil,
        _ decide: ([Row]) throws -> [ListOperation<Row>]
    ) throws -> ListCommit<Row>? {
        try store.commit(mutation, ifRevision: expected, decide) { commit, database in
            let change = OutgoingEvent(Self.event, on: channel, data: commit.data)
            for event in try [change] + translate(commit, device ?? mutation ?? "") {
                try outbox.post(event, in: database)
            }
        }
    }

    /// Returns the revision of an earlier mutation.
    func revision(of mutation: String) throws -> Int64? { try store.revision(of: mutation) }
}
