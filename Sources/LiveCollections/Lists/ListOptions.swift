public import FanfareClient

/// The limits, retries and checks of a list.
public struct ListOptions: Sendable {
    /// The maximum number of rows; a larger snapshot is an error, an edit beyond it is refused.
    public var rowsMax = 100_000
    /// The maximum number of unconfirmed edits; one more is refused.
    public var pendingEditsMax = 256
    /// The maximum number of operations of an edit.
    public var operationsMax = 1024
    /// The maximum number of changes buffered while a snapshot is fetched; with more, another is fetched.
    public var bufferedChangesMax = 4096
    /// The number of attempts to send an edit, after which it is refused and the later ones go on; `nil` for no limit.
    ///
    /// Only failures count: no answer, a status from 500, or an answer that cannot be read. Those while the list is
    /// ``ListState/offline(_:)`` do not, so that edits wait for the connection. With the default ``backoff``, 30 attempts
    /// take about six minutes.
    public var commitAttemptsMax: Int? = 30
    /// The time to wait for the change of an accepted edit; without it a change was lost, and all rows are fetched.
    public var changeTimeout: Duration = .seconds(10)
    /// The time between two comparisons of the list with its source, which find a lost last change; `nil` for none.
    ///
    /// A comparison asks for ``LiveSource/revision()``, and fetches a snapshot if that is newer or `nil`. The rows are
    /// also compared after each reconnection.
    public var checkInterval: Duration? = .seconds(300)
    /// The delays of retries: of snapshots, of commits without an answer, of a failed source.
    public var backoff = Backoff()
    /// The clock.
    public var clock = ClientClock.continuous

    /// Creates the default options.
    public init() {}
}
