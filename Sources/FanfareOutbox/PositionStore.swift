/// Keeps the positions of a client in its channels' sequences of events, so that a new run of the app goes on where the
/// last one was.
///
/// `SQLitePositions` of the module `FanfareStorage` keeps them in a file. Each client needs a store of its own.
public protocol PositionStore: Sendable {
    /// Returns all positions.
    ///
    /// - Returns: The positions, one for each channel.
    /// - Throws: The reason the store cannot be read. The client subscribes without positions then.
    func positions() async throws -> [StoredPosition]

    /// Replaces the positions of some channels.
    ///
    /// - Parameter positions: The new positions, one for each channel.
    /// - Throws: The reason the store cannot be written. The client reports it, and goes on.
    func save(_ positions: [StoredPosition]) async throws
}

/// A position in a channel's sequence of events, in a ``PositionStore``.
public struct StoredPosition: Sendable, Hashable {
    /// The channel's name.
    public var channel: String
    /// The sequence of events.
    public var stream: String
    /// The number of the last handled event; below 2^53.
    public var serial: UInt64

    /// Creates a position.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - stream: The sequence of events.
    ///   - serial: The number of the last handled event.
    public init(channel: String, stream: String, serial: UInt64) {
        self.channel = channel
        self.stream = stream
        self.serial = serial
    }
}
