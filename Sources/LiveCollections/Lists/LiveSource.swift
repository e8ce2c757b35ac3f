public import LiveRows

/// The requirements of a live list's row: rows with the same ID are the same row; the rest is its contents.
///
/// The client that creates a row also creates its permanent ID: a UUID as text, or a random number between 2³² and 2⁵³
/// for numeric IDs. The row keeps this ID when the backend stores it.
public typealias LiveRow = Equatable & Identifiable & Sendable

/// The source of a live list's rows and the target of its edits.
///
/// A single writer decides the order of changes. A source sends the changes, fetches all rows when changes may have
/// been missed, and commits edits.
public protocol LiveSource<Row>: Sendable {
    /// The type of the rows.
    associatedtype Row: LiveRow where Row.ID: Sendable

    /// Returns the rows if they are available immediately; otherwise the list starts empty.
    func initial() -> ListSnapshot<Row>?

    /// Sends events, in order, until the task is cancelled.
    ///
    /// - Parameter handler: Called with each event; suspends for back-pressure.
    /// - Throws: The error that ends the events. The list listens again according to its options, also if this returns
    ///   without an error before the task is cancelled.
    func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws

    /// Fetches all rows and their revision.
    ///
    /// Changes are already being sent, so that rows and changes overlap and none is missed. The rows must be at least
    /// as new as the changes sent before the call.
    ///
    /// - Returns: The rows.
    /// - Throws: The reason for the failure; the list retries.
    func snapshot() async throws -> ListSnapshot<Row>

    /// Sends an edit to the list's writer.
    ///
    /// - Parameter commit: The edit. If it was sent before, the writer must not apply it twice.
    /// - Returns: The revision of the edit; `nil` when the source does not number changes.
    /// - Throws: A ``LiveListError`` when the edit is refused; it is then reverted. Any other error when there is no
    ///   usable answer; the edit is then sent again, up to ``ListOptions/commitAttemptsMax`` times.
    func commit(_ commit: ListCommit<Row>) async throws -> UInt64?

    /// Whether the source reports each change that it has missed, so that its lists need no comparison with it.
    ///
    /// Read every ``ListOptions/checkInterval``; with `true` the list makes no request then. The default is `false`.
    var reportsMissedChanges: Bool { get }

    /// Fetches the revision of the rows, to find out whether the list has missed a change.
    ///
    /// Called every ``ListOptions/checkInterval``. The default returns `nil`.
    ///
    /// - Returns: The revision; `nil` if the source cannot report it, so that the list fetches a snapshot instead.
    /// - Throws: The reason for the failure; the list checks again after the interval.
    func revision() async throws -> UInt64?
}

extension LiveSource {
    /// Returns no rows.
    public func initial() -> ListSnapshot<Row>? { nil }

    /// Returns `false`, so that the list is compared with the source.
    public var reportsMissedChanges: Bool { false }

    /// Returns `nil`, so that the list fetches a snapshot instead.
    public func revision() async throws -> UInt64? { nil }
}

/// An event of a source.
public enum SourceEvent<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// Changes are sent from now on; earlier ones may have been missed, so the list fetches a snapshot.
    case subscribed
    /// Changes are sent again after ``offline(_:)``, and none was missed.
    case resumed
    /// There is no connection, for this reason; nothing is sent until ``subscribed`` or ``resumed``.
    case offline(any Error)
    /// A change by the writer.
    case change(ListChange<Row>)
    /// A change by the writer, from a source that does not number them; the list numbers it, and the snapshots too.
    ///
    /// `mutation` is the ID of the edit that caused it, if it is one of this client's.
    case unnumbered(mutation: String?, operations: [ListOperation<Row>])
    /// A change that could not be read, so the list fetches a snapshot.
    case unreadable(any Error)
    /// All rows, from a source without changes; the list compares them with the previous rows.
    case snapshot(ListSnapshot<Row>)
    /// An error; the source continues.
    case failed(any Error)
}
