public import PusherProtocol

/// An event that a backend or a client wants to publish on one channel, whose home decides on it.
///
/// Indirect, so that it is copied by one reference on its way.
public indirect enum ProposedEvent: Sendable {
    /// The event of a backend.
    case publication(Publication)
    /// The event of a client that is subscribed to the channel.
    case clientEvent(ClientEvent, ClientEventAuthor)

    /// The key under which the publisher may repeat the event; `nil` if it has none.
    public var key: IdempotencyKey? {
        switch self {
        case .publication(let publication): publication.key
        case .clientEvent(let event, _): event.key
        }
    }

    /// A digest of the event, by which a repetition is distinguished from another event under the same key.
    public var digest: UInt64 {
        switch self {
        case .publication(let publication): publication.digest
        case .clientEvent(let event, _): event.digest
        }
    }

    /// The connection that does not receive the event.
    public var except: SocketID? {
        switch self {
        case .publication(let publication): publication.except
        case .clientEvent(_, let author): author.socketID
        }
    }

    /// The required last position of the channel, without which the event is not published; `nil` for no condition.
    public var ifPosition: ChannelPosition? {
        guard case .publication(let publication) = self else { return nil }
        return publication.ifPosition
    }

    /// The attributes to return to the publisher.
    public var info: InfoAttributes {
        guard case .publication(let publication) = self else { return [] }
        return publication.info
    }

    /// Whether the event needs a number; see ``Publication/needsPosition``.
    public var needsPosition: Bool {
        guard case .publication(let publication) = self else { return false }
        return publication.needsPosition
    }

    /// Whether the publisher is answered only when the event is on the disk.
    public var isDurable: Bool {
        guard case .publication(let publication) = self else { return false }
        return publication.isDurable
    }

    /// The event that a cache channel keeps for later subscribers; `nil` if it keeps none.
    public var cached: Publication? {
        guard case .publication(let publication) = self else { return nil }
        return publication.isEphemeral ? nil : publication
    }

    /// The key of the receipt that the sender gets in its place in the channel's order; `nil` if it gets none.
    public var receiptKey: IdempotencyKey? {
        guard case .clientEvent(let event, _) = self else { return nil }
        return event.key
    }

    /// Whether a channel with this rule numbers the event and keeps it; the rule is `nil` if it is not known.
    public func isNumbered(by rule: RecoveryRule?) -> Bool {
        switch self {
        case .publication(let publication): !publication.isEphemeral
        case .clientEvent: rule?.keepsClientEvents ?? true
        }
    }

    /// The event as it is reported to observers, when it has its place in the channel's order.
    public var published: ChannelEvent {
        switch self {
        case .publication(let publication): .published(publication)
        case .clientEvent(let event, let author):
            .clientEvent(event, sender: author.socketID, userID: author.user)
        }
    }

    /// The kind of ``published``.
    public var publishedKind: BrokerEventKinds {
        switch self {
        case .publication: .published
        case .clientEvent: .clientEvents
        }
    }

    /// Returns the length of the message to the subscribers, in bytes; `serial` is 0 if it has no number.
    public func envelopeLength(for channel: ChannelName, serial: UInt64 = 0) -> Int {
        switch self {
        case .publication(let publication):
            publication.envelopeLength(for: channel, serial: serial)
        case .clientEvent(let event, let author):
            event.envelopeLength(for: channel, userID: author.userToken, serial: serial)
        }
    }

    /// Appends the message to the subscribers; `serial` is 0 if it has no number.
    public func appendEnvelope(
        for channel: ChannelName,
        serial: UInt64 = 0,
        to bytes: inout [UInt8]
    ) {
        switch self {
        case .publication(let publication):
            publication.appendEnvelope(for: channel, serial: serial, to: &bytes)
        case .clientEvent(let event, let author):
            event.appendEnvelope(
                for: channel,
                userID: author.userToken,
                serial: serial,
                to: &bytes
            )
        }
    }
}

/// The sender of a client event.
public struct ClientEventAuthor: Sendable, Equatable {
    /// The connection.
    public let socketID: SocketID
    /// Its user, on a presence channel.
    public var user: UserID?

    /// Creates an author.
    public init(socketID: SocketID, user: UserID? = nil) {
        self.socketID = socketID
        self.user = user
    }

    /// The user's ID as a JSON string, including quotes.
    fileprivate var userToken: [UInt8]? { user.map { JSONWriter.token($0.text) } }
}

/// The decision of a channel's home on a proposed event.
public enum EventDecision: Sendable, Equatable {
    /// The event is published, in the stream with this index in ``HomeShardState/streams`` if it is numbered.
    case publish(stream: Int?)
    /// The same event was published under its key, at this position if it was numbered; it is not published again.
    case repeated(ChannelPosition?)
    /// Another event was published under its key.
    case conflicting
    /// The channel's last position is this one, not the one that the event requires.
    case outdated(ChannelPosition?)
}
