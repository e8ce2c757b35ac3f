/// Stores a client's positions in its channels' sequences of events, so that the app's next run continues there.
///
/// `SQLitePositions` of the module `FanfareStorage` stores them in a file. Each client needs its own store.
public protocol PositionStore: Sendable {
    /// Returns all positions.
    ///
    /// - Returns: The positions, one for each channel.
    /// - Throws: The reason the store cannot be read; the client then subscribes without positions.
    func positions() async throws -> [StoredPosition]

    /// Replaces the positions of some channels.
    ///
    /// - Parameter positions: The new positions, one for each channel.
    /// - Throws: The reason the store cannot be written; the client reports it and continues.
    func save(_ positions: [StoredPosition]) async throws
}

/// A position in a channel's sequence of events, in a ``PositionStore``.
public struct StoredPosition: Sendable, Hashable {
    /// The channel's name.
    public var channel: String
    /// The ID of the sequence of events.
    public var stream: String
    /// The number of the last handled event; below 2^53.
    public var serial: UInt64

    /// Creates a position.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - stream: The ID of the sequence of events.
    ///   - serial: The number of the last handled event; below 2^53.
    public init(channel: String, stream: String, serial: UInt64) {
        self.channel = channel
        self.stream = stream
        self.serial = serial
    }
}
