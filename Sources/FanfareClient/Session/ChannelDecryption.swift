import PusherProtocol

/// The key of an encrypted channel, and the events that wait for a new key.
struct ChannelDecryption {
    /// The most events that may wait, and the most bytes of their data.
    static let heldCountMax = 1024
    static let heldBytesMax = 1 << 20
    /// The shortest time between two requests for a new key, so that events with foreign keys do not delay the others.
    static let requestPause = Duration.seconds(10)

    /// The key from the backend.
    var secret: String?
    /// The time of the last request for a new key; events that fail within ``requestPause`` of it are skipped.
    var requestedAt: Duration?
    /// The request in flight for a new key.
    var ticket: Int?
    /// The event that could not be decrypted, and all events received since.
    private(set) var held: [(event: ReceivedEvent, position: ChannelPosition?)] = []
    private var heldBytes = 0

    /// Holds an event; returns `false` when there is no room for it.
    mutating func hold(_ event: ReceivedEvent, at position: ChannelPosition?) -> Bool {
        let bytes = event.data?.utf8.count ?? 0
        guard held.count < Self.heldCountMax, heldBytes + bytes <= Self.heldBytesMax else {
            return false
        }
        held.append((event, position))
        heldBytes += bytes
        return true
    }

    mutating func takeHeld() -> [(event: ReceivedEvent, position: ChannelPosition?)] {
        heldBytes = 0
        return exchange(&held, with: [])
    }
}

extension ClientSession {
    /// Whether the events of a channel must be decrypted.
    func isEncrypted(_ channel: String) -> Bool {
        settings.decrypter != nil && settings.signer == nil
            && ChannelKind(ofName: channel).isEncrypted
    }

    /// Decrypts and delivers an event, or holds it while a new key is requested.
    mutating func receiveEncrypted(
        _ event: ReceivedEvent,
        _ channel: String,
        at position: ChannelPosition?
    ) {
        guard delivers(channel) else { return }
        if subscriptions[of: channel]?.decryption.ticket == nil {
            decrypt(event, channel, at: position, mayRequestKey: true)
        } else {
            hold(event, channel, at: position)
        }
    }

    /// Handles the response to the request for a new key: decrypts the held events with it, in order.
    mutating func receiveSecret(
        for channel: String,
        _ outcome: Result<ChannelAuthorization, AuthorizationFailure>
    ) {
        subscriptions[of: channel]?.decryption.ticket = nil
        let old = subscriptions[of: channel]?.decryption.secret
        switch outcome {
        case .success(let authorization):
            if let secret = authorization.sharedSecret {
                subscriptions[of: channel]?.decryption.secret = secret
            }
        case .failure(let failure):
            effects.append(.report(.authorizationFailed(channel: channel, failure)))
        }
        decryptHeld(
            of: channel,
            mayRequestKey: subscriptions[of: channel]?.decryption.secret != old
        )
    }

    /// Decrypts the held events.
    ///
    /// The first of them does not request another key, because this key was requested for it.
    mutating func decryptHeld(of channel: String, mayRequestKey: Bool = false) {
        let held = subscriptions[of: channel]?.decryption.takeHeld() ?? []
        for (index, (event, position)) in held.enumerated() {
            if subscriptions[of: channel]?.decryption.ticket == nil {
                decrypt(event, channel, at: position, mayRequestKey: mayRequestKey && index > 0)
            } else {
                hold(event, channel, at: position)
            }
        }
    }

    private mutating func decrypt(
        _ event: ReceivedEvent,
        _ channel: String,
        at position: ChannelPosition?,
        mayRequestKey: Bool
    ) {
        guard let decrypter = settings.decrypter, let socketID else { return }
        let secret = subscriptions[of: channel]?.decryption.secret ?? ""
        do throws(DecryptionFailure) {
            let text = try decrypter.open(event.data ?? "", sharedSecret: secret)
            deliver(
                ChannelEvent(name: event.name, channel: channel, data: text, userID: event.userID),
                at: position
            )
        } catch {
            // A new key does not help if the event is not encrypted at all.
            guard error.mayHaveAnotherKey, mayRequestKey, settings.authorizes,
                mayRequestNow(channel)
            else { return skip(event, at: position, "\(error)") }
            let ticket = tickets.add(.secret(channel))
            subscriptions[of: channel]?.decryption.ticket = ticket
            hold(event, channel, at: position)
            effects.append(
                .requestKey(ticket: ticket, channel: channel, socketID: socketID.description)
            )
        }
    }

    private mutating func mayRequestNow(_ channel: String) -> Bool {
        let now = liveness.receivedAt
        if let last = subscriptions[of: channel]?.decryption.requestedAt,
            now - last < ChannelDecryption.requestPause
        {
            return false
        }
        subscriptions[of: channel]?.decryption.requestedAt = now
        return true
    }

    private mutating func hold(
        _ event: ReceivedEvent,
        _ channel: String,
        at position: ChannelPosition?
    ) {
        let isHeld = subscriptions[of: channel]?.decryption.hold(event, at: position)
        guard isHeld != true else { return }
        skip(
            event,
            at: position,
            "\(ChannelDecryption.heldCountMax) events or \(ChannelDecryption.heldBytesMax) bytes wait for a key"
        )
    }

    private mutating func skip(
        _ event: ReceivedEvent,
        at position: ChannelPosition?,
        _ reason: String
    ) {
        if let position, let channel = event.channel { pass(position, on: channel) }
        guard let event = ChannelEvent(.event(event)) else { return }
        effects.append(.report(.undecryptable(event: event, reason: reason)))
    }
}
