public import PusherProtocol

/// The state that one or all home shards have only in memory; a stop writes it to a file, and the next start reads it.
public struct SpooledState: Sendable {
    /// The streams, with their messages.
    public var streams: [SpooledStream]
    /// The idempotency keys; those of an app in the order of their expiry.
    public var keys: [SpooledKey]
    /// The sessions of stock clients with a token, unless they are in an archive.
    public var sessions: StoredSessions

    /// Creates a state.
    public init(
        streams: [SpooledStream] = [],
        keys: [SpooledKey] = [],
        sessions: StoredSessions = StoredSessions()
    ) {
        self.streams = streams
        self.keys = keys
        self.sessions = sessions
    }

    /// The streams and keys of one home shard.
    public func part(of shard: Int, among shardCount: Int) -> SpooledState {
        SpooledState(
            streams: streams.filter { $0.address.home(among: shardCount) == shard },
            keys: keys.filter { $0.address.home(among: shardCount) == shard }
        )
    }

    /// Adds another shard's streams and keys.
    public mutating func add(_ other: SpooledState) {
        streams += other.streams
        keys += other.keys
    }
}

/// A stream with its kept messages.
public struct SpooledStream: Sendable, Equatable {
    /// The channel.
    public var address: ChannelAddress
    /// The stream's ID.
    public var id: StreamID
    /// The serial of the last message.
    public var lastSerial: UInt64
    /// The kept messages, in order and without gaps up to the last one.
    public var messages: [StoredMessage]

    /// Creates a stream.
    public init(
        _ address: ChannelAddress,
        _ id: StreamID,
        lastSerial: UInt64,
        messages: [StoredMessage]
    ) {
        self.address = address
        self.id = id
        self.lastSerial = lastSerial
        self.messages = messages
    }
}

/// An idempotency key, with its channel.
public struct SpooledKey: Sendable, Equatable {
    /// The channel.
    public var address: ChannelAddress
    /// The key.
    public var key: StoredKey
    /// The position of the key's event; `nil` if it was not numbered.
    public var position: ChannelPosition?

    /// Creates a key.
    public init(address: ChannelAddress, key: StoredKey, position: ChannelPosition?) {
        self.address = address
        self.key = key
        self.position = position
    }
}

extension ChannelStream {
    /// The stream with its messages.
    func spooled(calendarOffset offset: Int64) -> SpooledStream {
        let messages = ring.all(timesPlus: offset)
        return SpooledStream(address, id, lastSerial: lastSerial, messages: messages)
    }
}
