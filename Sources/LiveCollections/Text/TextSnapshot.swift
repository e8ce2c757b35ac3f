/// A text at one moment with the IDs of its scalars; clients start from it.
public struct TextSnapshot: Hashable, Sendable {
    /// Adjacent scalars of one replica with consecutive times.
    package enum Run: Hashable, Sendable {
        /// Visible scalars.
        case visible(ScalarID, String)
        /// Deleted scalars, whose IDs are kept for operations that refer to them.
        case deleted(ScalarRange)
    }

    /// The number of compactions.
    package var epoch: UInt64
    /// The serial of the backend's last log entry; 0 without a log.
    public var serial: UInt64
    /// The latest used Lamport time.
    package var time: UInt64
    /// For each replica, the number of its last operation in the text.
    package var version: [ReplicaID: UInt64]
    /// The scalars, in order.
    package var runs: [Run]

    /// An empty text without edits.
    public static let empty = TextSnapshot(epoch: 0, serial: 0, time: 0, version: [:], runs: [])

    /// Creates a snapshot.
    package init(
        epoch: UInt64,
        serial: UInt64,
        time: UInt64,
        version: [ReplicaID: UInt64],
        runs: [Run]
    ) {
        self.epoch = epoch
        self.serial = serial
        self.time = time
        self.version = version
        self.runs = runs
    }

    /// The visible text.
    public var string: String {
        runs.reduce(into: "") { if case .visible(_, let text) = $1 { $0 += text } }
    }
}
