public import PusherProtocol

/// The messages of a channel's stream that a subscription has got, as serials; no data.
///
/// All times are milliseconds of one steady clock.
public struct SubscriptionRecord: Sendable {
    /// The channel.
    public let channel: ChannelName
    /// The stream; `nil` for a subscription that does not track its position.
    public let stream: StreamID?
    /// The serial after which live messages begin.
    public let live: UInt64
    /// The serial after which the replay begins; ``live`` without a replay.
    public let start: UInt64
    /// When the subscription began.
    public let began: Int64
    /// At most one element: an empty array allocates nothing.
    private var interruptions: [Interruption] = []
    private var confirmedSerial: UInt64 = 0
    /// ``never`` without a confirmation: an optional would take eight bytes more, of each open subscription.
    private var confirmedAt = Self.never

    private static let never = Int64.min

    /// The values of a subscription that has ended, or whose client was disconnected before it.
    private struct Interruption {
        var resumed: UInt64?
        var gap: RecoveryGap.Reason?
        var predecessor: SocketID?
        var ending: (serial: UInt64, time: Int64)?
        var droppedFrom: UInt64?
        var successor: SocketID?
    }

    /// The serial up to which the client has confirmed messages, and when.
    public var confirmed: (serial: UInt64, time: Int64)? {
        confirmedAt == Self.never ? nil : (confirmedSerial, confirmedAt)
    }

    /// The serial that the client has resumed from; `nil` for a new subscription, and for a position of another stream.
    public var resumed: UInt64? { interruptions.first?.resumed }
    /// The reason of the gap that was reported to the client.
    public var gap: RecoveryGap.Reason? { interruptions.first?.gap }
    /// An earlier connection of the client; messages that exclude it are left out of the replay.
    public var predecessor: SocketID? { interruptions.first?.predecessor }
    /// The last serial that was handed to the connection; `nil` while the subscription lasts.
    public var end: UInt64? { interruptions.first?.ending?.serial }
    /// When the subscription ended.
    public var ended: Int64? { interruptions.first?.ending?.time }
    /// The serial of the first message that was dropped with the connection's queue.
    public var droppedFrom: UInt64? { interruptions.first?.droppedFrom }
    /// The connection on which the client continued.
    public var successor: SocketID? { interruptions.first?.successor }

    /// Creates the record of a subscription that begins.
    ///
    /// `start` is in the stream's own ID, and `nil` if the client does not track its position. The predecessor is the
    /// client's former connection, if it names one.
    public init(
        _ channel: ChannelName,
        _ start: SubscriptionStart?,
        predecessor: SocketID? = nil,
        at now: Int64
    ) {
        self.channel = channel
        began = now
        let serial = start?.position.serial ?? 0
        stream = start?.position.stream
        self.start = serial
        var (resumed, gap): (UInt64?, RecoveryGap.Reason?)
        switch start?.continuity {
        case .recovered(let replay)?: (resumed, live) = (serial, serial + UInt64(replay))
        case .gap(let told)?:
            (resumed, live, gap) = (
                told.missed.map { serial - min($0, serial) }, serial, told.reason
            )
        case .began?, nil: live = serial + UInt64(start?.rewound ?? 0)
        }
        guard resumed != nil || gap != nil || predecessor != nil else { return }
        interrupt { ($0.resumed, $0.gap, $0.predecessor) = (resumed, gap, predecessor) }
    }

    private mutating func interrupt(_ change: (inout Interruption) -> Void) {
        if interruptions.isEmpty { interruptions.append(Interruption()) }
        change(&interruptions[0])
    }

    /// Ends the subscription.
    ///
    /// `serial` is the last serial of the channel that this shard has sent, and `droppedFrom` the first one that was
    /// dropped with the connection's queue.
    mutating func end(at serial: UInt64, droppedFrom: UInt64? = nil, _ now: Int64) {
        guard ended == nil else { return }
        let (ending, first) = ((max(serial, live), now), start + 1)
        interrupt { ($0.ending, $0.droppedFrom) = (ending, droppedFrom.map { max($0, first) }) }
    }

    /// Records that the client has got everything up to a serial, and the connection on which it continues.
    mutating func confirm(_ serial: UInt64, successor: SocketID?, at now: Int64) {
        if serial >= confirmedSerial { (confirmedSerial, confirmedAt) = (serial, now) }
        if let successor { interrupt { $0.successor = successor } }
    }
}
