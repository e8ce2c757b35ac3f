public import FanfareClient

/// The limits, retries and checks of a list.
public struct ListOptions: Sendable {
    /// The maximum number of rows; a larger snapshot is an error, and an edit beyond the limit is refused.
    public var rowsMax = 100_000
    /// The maximum number of unconfirmed edits; one more is refused.
    public var pendingEditsMax = 256
    /// The maximum number of operations of an edit.
    public var operationsMax = 1024
    /// The maximum number of changes buffered while a snapshot is fetched; with more, the list fetches another
    /// snapshot.
    public var bufferedChangesMax = 4096
    /// The number of attempts to send an edit before it is refused and later edits continue; `nil` for no limit.
    ///
    /// Only failures count: no answer, a status from 500, or an unreadable answer. Failures while the list is
    /// ``ListState/offline(_:)`` do not count, so that edits wait for the connection. With the default ``backoff``, 30
    /// attempts take about six minutes.
    public var commitAttemptsMax: Int? = 30
    /// The time to wait for the change of an accepted edit.
    ///
    /// If it does not arrive, a change was lost, and the list fetches all rows.
    public var changeTimeout: Duration = .seconds(10)
    /// The time between two comparisons of the list with its source; `nil` for none.
    ///
    /// A comparison finds a lost change that no later one follows. It requests ``LiveSource/revision()``, and fetches a
    /// snapshot if that is newer or `nil`. There is none if the source reports what it has missed
    /// (``LiveSource/reportsMissedChanges``). The list also compares the rows after each reconnection, unless the
    /// source has resumed without loss.
    public var checkInterval: Duration? = .seconds(300)
    /// The retry delays for snapshots, for commits without an answer and for a failed source.
    public var backoff = Backoff()
    /// The clock.
    public var clock = ClientClock.continuous

    /// Creates the default options.
    public init() {}
}
