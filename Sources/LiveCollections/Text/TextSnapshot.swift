/// A text as it was at one moment, with the names of its scalars: what who comes late begins with.
public struct TextSnapshot: Hashable, Sendable {
    /// Neighbours that one replica typed one after the other.
    public enum Run: Hashable, Sendable {
        /// They are to be seen.
        case visible(ScalarID, String)
        /// They are deleted; only their names are left, for those who still build upon them.
        case deleted(ScalarRange)
    }

    /// How often the text had been compacted.
    public var epoch: UInt64
    /// How far the log of whoever orders the operations had come; 0 where there is no such log.
    public var serial: UInt64
    /// The latest Lamport time that had been used.
    public var time: UInt64
    /// The number of the last operation of each replica that is part of this.
    public var version: [ReplicaID: UInt64]
    /// The scalars in their order.
    public var runs: [Run]

    /// An empty text that nobody has edited.
    public static let empty = TextSnapshot(epoch: 0, serial: 0, time: 0, version: [:], runs: [])

    /// Puts a snapshot together.
    ///
    /// - Parameters:
    ///   - epoch: How often the text had been compacted.
    ///   - serial: How far the log had come.
    ///   - time: The latest Lamport time that had been used.
    ///   - version: The number of the last operation of each replica.
    ///   - runs: The scalars in their order.
    public init(
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

    /// The text itself.
    public var string: String {
        runs.reduce(into: "") { if case .visible(_, let text) = $1 { $0 += text } }
    }
}
