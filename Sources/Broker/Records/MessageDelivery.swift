public import PusherProtocol

/// A message that is being traced, as the channel's home knows it.
public struct TracedMessage: Sendable, Equatable {
    /// The stream.
    public let stream: StreamID
    /// The number.
    public let serial: UInt64
    /// The serial of the channel's last message.
    public let last: UInt64
    /// When it was published, in milliseconds of a steady clock; `nil` if it is no longer kept.
    public let time: Int64?
    /// The same in milliseconds since 1970, as in the channel's history.
    public let published: Int64?
    /// The connection that it excludes.
    public let except: SocketID?

    /// Creates a traced message.
    public init(
        _ position: ChannelPosition,
        last: UInt64,
        time: Int64?,
        published: Int64? = nil,
        except: SocketID? = nil
    ) {
        stream = position.stream
        serial = position.serial
        self.last = last
        self.time = time
        self.published = published
        self.except = except
    }

    /// Whether it is still kept, so that its time and exclusion are known.
    public var isKept: Bool { time != nil }

    /// Whether the stream has reached this serial.
    public var isPublished: Bool { serial > 0 && serial <= last }
}

/// The outcome of a message for one connection.
public enum DeliveryVerdict: String, CaseIterable, Sendable {
    // The strongest evidence first: of several subscriptions, the first of these counts.
    /// The client has confirmed the message or its serial.
    case confirmed
    /// It was sent after a disconnect, as part of a replay.
    case replayed
    /// It was sent.
    case sent
    /// It excludes the connection, or one that the client had before.
    case leftOut = "left_out"
    /// It was dropped with the queue of a client that read too slowly.
    case dropped
    /// The client was notified of a gap.
    case gapTold = "gap_told"
    /// It was published after the end of the subscription.
    case afterLeaving = "after_leaving"
    /// It was published before the subscription.
    case beforeJoining = "before_joining"
    /// The subscription covers it, but it is no longer kept, so whether it excluded the connection is not known.
    case notKept = "not_kept"
    /// The connection has not subscribed to the channel.
    case notSubscribed = "not_subscribed"
    /// The stream has not reached this serial.
    case neverPublished = "never_published"
    /// No record of the connection is kept.
    case unknownConnection = "unknown_connection"
}

extension SubscriptionRecord {
    /// The outcome of a message for this subscription; `nil` if it is of another stream.
    func verdict(of message: TracedMessage, to socketID: SocketID) -> DeliveryVerdict? {
        let isExcluded = [socketID, predecessor].contains(message.except) && message.except != nil
        guard let stream else { return verdict(byTimeOf: message, isExcluded: isExcluded) }
        guard stream == message.stream else { return nil }
        let serial = message.serial
        if let resumed, serial <= resumed { return isExcluded ? .leftOut : .confirmed }
        if gap != nil, serial <= start { return .gapTold }
        if serial <= start { return .beforeJoining }
        if let end, serial > end { return .afterLeaving }
        if isExcluded { return .leftOut }
        if let confirmed, serial <= confirmed.serial { return .confirmed }
        if let droppedFrom, serial >= droppedFrom { return .dropped }
        if serial <= live { return .replayed }
        return message.isKept ? .sent : .notKept
    }

    /// The outcome for a subscription that does not track its position, by time.
    private func verdict(byTimeOf message: TracedMessage, isExcluded: Bool) -> DeliveryVerdict {
        guard let time = message.time else { return .notKept }
        if time < began { return .beforeJoining }
        if let ended, time > ended { return .afterLeaving }
        if isExcluded { return .leftOut }
        if let droppedFrom, message.serial >= droppedFrom { return .dropped }
        return .sent
    }
}

extension ConnectionRecord {
    /// The outcome of a message for this connection, and the subscription that proves it.
    public func verdict(
        of message: TracedMessage,
        on channel: ChannelName
    ) -> (verdict: DeliveryVerdict, subscription: SubscriptionRecord?) {
        var best: (verdict: DeliveryVerdict, subscription: SubscriptionRecord?) = (
            .notSubscribed, nil
        )
        for subscription in subscriptions where subscription.channel == channel {
            guard let verdict = subscription.verdict(of: message, to: identity.socketID),
                best.subscription == nil || verdict.rank <= best.verdict.rank
            else { continue }
            best = (verdict, subscription)
        }
        return best
    }
}

extension DeliveryVerdict {
    /// The rank among the verdicts, by strength of evidence.
    public var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
