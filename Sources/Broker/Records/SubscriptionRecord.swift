public import PusherProtocol

/// What a subscription has got of a channel's stream, as serials; no data.
///
/// All times are milliseconds of one steady clock.
public struct SubscriptionRecord: Sendable {
    /// The channel.
    public let channel: ChannelName
    /// The stream; `nil` for a subscription that does not track its position.
    public let stream: StreamID?
    /// The serial that the client has resumed from; `nil` for a new subscription, and for a position of another stream.
    public let resumed: UInt64?
    /// The serial behind which live messages begin.
    public let live: UInt64
    /// The serial behind which the replay begins; ``live`` without one.
    public let start: UInt64
    /// Why the client was told of a gap.
    public let gap: RecoveryGap.Reason?
    /// When the subscription began.
    public let began: Int64
    /// Earlier connections of the client: what excludes them is left out of the replay.
    public let predecessor: SocketID?

    /// The last serial that was handed to the connection; `nil` while the subscription lasts.
    public private(set) var end: UInt64?
    /// When the subscription ended.
    public private(set) var ended: Int64?
    /// The serial of the first message that was dropped with the connection's queue.
    public private(set) var droppedFrom: UInt64?
    /// The serial up to which the client has confirmed what it got, and when.
    public private(set) var confirmed: (serial: UInt64, time: Int64)?
    /// The connection on which the client went on.
    public private(set) var successor: SocketID?

    /// Creates the record of a subscription that begins.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - start: Where it begins, in the stream's own ID; `nil` if the client does not track its position.
    ///   - predecessor: The client's former connection, if it names one.
    ///   - now: The time.
    public init(
        _ channel: ChannelName,
        _ start: SubscriptionStart?,
        predecessor: SocketID? = nil,
        at now: Int64
    ) {
        self.channel = channel
        self.predecessor = predecessor
        began = now
        let serial = start?.position.serial ?? 0
        stream = start?.position.stream
        self.start = serial
        switch start?.continuity {
        case .recovered(let replay)?:
            (resumed, live, gap) = (serial, serial + UInt64(replay), nil)
        case .gap(let told)?:
            (resumed, live, gap) = (
                told.missed.map { serial - min($0, serial) }, serial, told.reason
            )
        case .began?, nil:
            (resumed, live, gap) = (nil, serial + UInt64(start?.rewound ?? 0), nil)
        }
    }

    /// Ends the subscription.
    ///
    /// - Parameters:
    ///   - serial: The last serial of the channel that this shard has sent.
    ///   - droppedFrom: The first serial that was dropped with the connection's queue.
    ///   - now: The time.
    mutating func end(at serial: UInt64, droppedFrom: UInt64? = nil, _ now: Int64) {
        guard ended == nil else { return }
        end = max(serial, live)
        self.droppedFrom = droppedFrom.map { max($0, start + 1) }
        ended = now
    }

    /// Records that the client has got everything up to a serial, and where it goes on.
    mutating func confirm(_ serial: UInt64, successor: SocketID?, at now: Int64) {
        if serial >= confirmed?.serial ?? 0 { confirmed = (serial, now) }
        if let successor { self.successor = successor }
    }
}
