import PusherProtocol

/// The key of an encrypted channel, and the events that wait for another one.
struct ChannelDecryption {
    /// The most events that wait, and the most bytes of them.
    static let heldCountMax = 1024
    static let heldBytesMax = 1 << 20

    /// The key, as the backend has given it.
    var secret: String?
    /// The request for another key that is under way.
    var ticket: Int?
    /// What came since the event that the key does not fit, that one first.
    private(set) var held: [ReceivedEvent] = []
    private var heldBytes = 0

    /// Keeps an event, or returns `false` when there is no room for it.
    mutating func hold(_ event: ReceivedEvent) -> Bool {
        let bytes = event.data?.utf8.count ?? 0
        guard held.count < Self.heldCountMax, heldBytes + bytes <= Self.heldBytesMax else {
            return false
        }
        held.append(event)
        heldBytes += bytes
        return true
    }

    mutating func takeHeld() -> [ReceivedEvent] {
        heldBytes = 0
        return exchange(&held, with: [])
    }
}

extension ClientSession {
    /// Whether the events of a channel have to be decrypted.
    func isSealed(_ channel: String) -> Bool {
        settings.decrypter != nil && settings.signer == nil
            && ChannelKind(ofName: channel).isEncrypted
    }

    /// Decrypts an event and delivers it; behind one whose key is being asked for, it waits.
    mutating func unseal(_ event: ReceivedEvent, _ channel: String) {
        guard hears(channel) else { return }
        if subscriptions[of: channel]?.seal.ticket == nil {
            open(event, channel, mayAsk: true)
        } else {
            hold(event, channel)
        }
    }

    /// Takes the answer to the request for another key; what waits is tried with it, in order.
    mutating func secretCame(
        for channel: String,
        _ outcome: Result<ChannelAuthorization, AuthorizationFailure>
    ) {
        subscriptions[of: channel]?.seal.ticket = nil
        let old = subscriptions[of: channel]?.seal.secret
        switch outcome {
        case .success(let authorization):
            if let secret = authorization.sharedSecret {
                subscriptions[of: channel]?.seal.secret = secret
            }
        case .failure(let failure):
            effects.append(.report(.authorizationFailed(channel: channel, failure)))
        }
        openHeld(of: channel, mayAsk: subscriptions[of: channel]?.seal.secret != old)
    }

    /// Opens what waited for a key; the first of it has had its second chance then.
    mutating func openHeld(of channel: String, mayAsk: Bool = false) {
        let held = subscriptions[of: channel]?.seal.takeHeld() ?? []
        for (index, event) in held.enumerated() {
            if subscriptions[of: channel]?.seal.ticket == nil {
                open(event, channel, mayAsk: mayAsk && index > 0)
            } else {
                hold(event, channel)
            }
        }
    }

    private mutating func open(_ event: ReceivedEvent, _ channel: String, mayAsk: Bool) {
        guard let decrypter = settings.decrypter, let socketID else { return }
        let secret = subscriptions[of: channel]?.seal.secret ?? ""
        do throws(DecryptionFailure) {
            let text = try decrypter.open(event.data ?? "", sharedSecret: secret)
            deliver(
                ChannelEvent(name: event.name, channel: channel, data: text, userID: event.userID)
            )
        } catch {
            // Another key does not help an event that is not encrypted at all.
            guard error.mayHaveAnotherKey, mayAsk, settings.authorizes else {
                return skip(event, "\(error)")
            }
            let ticket = tickets.add(.secret(channel))
            subscriptions[of: channel]?.seal.ticket = ticket
            hold(event, channel)
            effects.append(
                .authorize(ticket: ticket, channel: channel, socketID: socketID.description)
            )
        }
    }

    private mutating func hold(_ event: ReceivedEvent, _ channel: String) {
        guard subscriptions[of: channel]?.seal.hold(event) != true else { return }
        skip(
            event,
            "\(ChannelDecryption.heldCountMax) events or \(ChannelDecryption.heldBytesMax) bytes wait for a key"
        )
    }

    private mutating func skip(_ event: ReceivedEvent, _ reason: String) {
        guard let event = ChannelEvent(.event(event)) else { return }
        effects.append(.report(.undecryptable(event: event, reason: reason)))
    }
}
