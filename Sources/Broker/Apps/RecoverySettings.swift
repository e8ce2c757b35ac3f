public import PusherProtocol

/// What an app's channels keep for clients that reconnect, and what one client may request.
public struct RecoverySettings: Sendable, Equatable {
    /// Whether clients may track their positions; if not, the broker ignores positions.
    public var isEnabled = true
    /// The rules by channel; the first whose prefix fits applies.
    public var rules: [RecoveryRule] = []
    /// The rule of all other channels.
    public var standard = RecoveryRule()
    /// The maximum size of all kept messages of the app, in bytes; `nil` for no limit of the app.
    ///
    /// Above it the oldest messages of all channels are dropped first.
    public var retainedBytesMax: Int?
    /// The maximum number of messages of one replay.
    public var replayMessagesMax = 10_000
    /// The maximum size of one replay, in bytes.
    public var replayBytesMax = 4 << 20
    /// The maximum number of channels without subscribers whose last serial is remembered.
    public var positionsMax = 100_000
    /// The maximum number of public channels with subscribers and a stream on which nothing was published.
    ///
    /// See ``Streams/mayOpen(_:_:from:)``.
    public var openedStreamsMax = 100_000

    /// The maximum number of sessions of stock clients with a token.
    public var sessionsMax = 100_000
    /// The approximate maximum size of the positions of all sessions without a connection, in bytes.
    public var sessionBytesMax = 256 << 20
    /// How long a session is kept after the end of its connection, in seconds.
    public var sessionAge = 300
    /// How long a session keeps the position of a channel that the client has left, in seconds; 0 for not at all.
    public var resubscribeGrace = 30

    /// Creates the default settings, and changes some.
    public init(_ change: (inout RecoverySettings) -> Void = { _ in }) { change(&self) }

    /// The rule of a channel.
    public func rule(of channel: ChannelName) -> RecoveryRule {
        rules.first { channel.text.hasPrefix($0.channelPrefix) } ?? standard
    }

    /// Whether some channels are in the archive.
    public var hasArchive: Bool {
        isEnabled && (standard.store == .archive || rules.contains { $0.store == .archive })
    }

    /// Whether a channel may have a stream before a client tracks it.
    public var keepsAlways: Bool {
        isEnabled && (standard.keep == .always || rules.contains { $0.keep == .always })
    }

    /// Whether some client that does not track a channel may get earlier messages of it.
    public var replaysOpenings: Bool {
        isEnabled && ([standard] + rules).contains { $0.opening != .live }
    }
}

/// What channels keep.
public struct RecoveryRule: Sendable, Equatable {
    /// When a channel keeps its messages.
    public enum Keep: String, Sendable, CaseIterable {
        /// From the first tracked subscription on, while there are subscribers, and for the window after the last one.
        case whileNeeded = "while_needed"
        /// From the first message on.
        case always
    }

    /// What a client without a position gets after its acknowledgement, before live messages.
    public enum Opening: Sendable, Equatable {
        /// Nothing.
        case live
        /// Earlier messages: the last `count`, and only those of the last `seconds`; without either, all kept messages.
        case replay(count: Int? = nil, seconds: Int? = nil)
    }

    /// Where a channel keeps its messages.
    public enum Store: String, Sendable, CaseIterable {
        /// In memory: after a restart, the channels have new streams.
        case memory
        /// In the archive's file, before any client receives them; the last ones also in memory.
        case archive = "sqlite"
    }

    /// The beginning of the channels' names; empty for all.
    public var channelPrefix = ""
    /// When the channels keep their messages.
    public var keep = Keep.whileNeeded
    /// Whether a client without a position may ask for earlier messages.
    public var allowsRewind = false
    /// What a client without a position gets if it does not request a rewind.
    public var opening = Opening.live
    /// Whether a client may resume from a position before its first subscription; see ``JoinedStream``.
    public var replaysBeforeJoining = true
    /// Whether client events are numbered and kept like other messages.
    public var keepsClientEvents = true
    /// The maximum number of kept messages of a channel.
    public var messagesMax = 1_000
    /// The maximum size of the kept messages of a channel, in bytes.
    public var bytesMax = 1 << 20
    /// How long a message is kept, in seconds.
    public var ageMax = 300
    /// Where the channels keep their messages.
    public var store = Store.memory

    /// Creates the default rule, and changes some of it.
    public init(_ change: (inout RecoveryRule) -> Void = { _ in }) { change(&self) }
}

extension RecoveryRule {
    /// What a client without a position gets: the rewind that it requests, if the rule allows it.
    ///
    /// - Parameter request: The client's request; `nil` for a client that does not track the channel.
    /// - Returns: The messages that the client gets first.
    func opening(for request: PositionRequest?) -> Opening {
        guard allowsRewind, let rewind = request?.rewind else { return opening }
        switch rewind {
        case .count(let count): return .replay(count: max(0, count))
        // Older messages are not kept, so more seconds give the same messages.
        case .seconds(let seconds): return .replay(seconds: min(max(0, seconds), ageMax))
        }
    }
}

extension RecoveryRule {
    /// Whether each message is in the archive, from the first one on.
    var isStoredAlways: Bool { store == .archive && keep == .always }
}

extension ChannelKind {
    /// Whether anyone who knows the app's key may subscribe.
    var isOpenToAll: Bool { !requiresSignature && self != .serverToUser }
}
