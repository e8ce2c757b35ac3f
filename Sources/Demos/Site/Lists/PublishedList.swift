package import LiveRows

/// A live list: its one writer, which tells the broker of each commit in the order of the commits.
///
///     let films = PublishedList<Film>(ListStore(backstage.database), channel: "films", outbox: backstage.outbox)
///     return await films.routes(below: "rows")
///
/// What clients see of it:
/// - `GET rows` answers `{"revision": 13, "rows": […]}`.
/// - `POST rows/operations` takes `{"mutation": "…", "operations": […]}` and answers `{"revision": 14}`, or a status
///   of 4xx with `{"error": "…"}` when nothing was done. A mutation that was committed before is answered with its
///   revision and not done again. With `"ifRevision": 13` it is done only if nobody has changed the list since.
/// - The event `list_changed` on the list's channel carries each commit.
package actor PublishedList<Row: ListRow> {
    /// Further events that tell of a commit, for clients that do not know `list_changed`.
    ///
    /// - Parameters:
    ///   - commit: What was done.
    ///   - device: Who did it, as such clients name themselves.
    /// - Returns: The events, in the order in which they are to be told.
    package typealias Translation =
        @Sendable (_ commit: ListCommit<Row>, _ device: String) throws -> [Announcement]

    /// The event that carries a commit.
    package nonisolated static var event: String { "list_changed" }

    private let store: ListStore<Row>
    private let channel: String
    private let outbox: Outbox
    private let translate: Translation

    /// Takes a list over; nobody else may write to it.
    ///
    /// - Parameters:
    ///   - store: The rows.
    ///   - channel: The channel on which changes are told.
    ///   - outbox: The way to the broker.
    ///   - translate: Further events for each commit; none by default.
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

    // None of these methods suspends: between a commit and its announcement no other commit can slip in.

    /// The rows and the revision that they are of.
    package func snapshot() throws -> ListSnapshot<Row> { try store.snapshot() }

    /// Applies an edit and tells everybody.
    ///
    /// - Parameters:
    ///   - mutation: What its maker calls it; a name that was there before is not done again.
    ///   - device: Who did it, for clients that know their own changes by that; the mutation by default.
    ///   - expected: The revision that the list must have; `nil` for any.
    ///   - decide: Says what to do to the rows as they are now.
    /// - Returns: What was done; `nil` when this mutation was committed before.
    /// - Throws: A ``RequestError``, whatever `decide` throws, or a `DatabaseError` of GRDB.
    @discardableResult package func commit(
        _ mutation: String? = nil,
        by device: String? = nil,
        ifRevision expected: Int64? = nil,
        _ decide: ([Row]) throws -> [ListOperation<Row>]
    ) throws -> ListCommit<Row>? {
        guard let commit = try store.commit(mutation, ifRevision: expected, decide) else {
            return nil
        }
        outbox.post(
            Announcement(Self.event, on: channel, data: commit.data, isRepeatable: true)
        )
        for announcement in try translate(commit, device ?? mutation ?? "") {
            outbox.post(announcement)
        }
        return commit
    }

    /// The revision of a mutation that was committed before.
    func revision(of mutation: String) throws -> Int64? { try store.revision(of: mutation) }
}
