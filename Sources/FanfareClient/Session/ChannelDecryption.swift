import PusherProtocol

/// The key of an encrypted channel, and the events that wait for a new key.
struct ChannelDecryption {
    enum Outcome {
        /// The event's data is decrypted.
        case opened(String)
        case held
        /// A new key must be requested, for which the event is to be held.
        case needsKey
        case failed(reason: String)
    }

    /// The most events that may wait, and the most bytes of their data.
    static let heldCountMax = 1024
    static let heldBytesMax = 1 << 20
    /// The shortest time between two requests for a new key, so that events with foreign keys do not delay the others.
    static let requestPause = Duration.seconds(10)

    /// The key from the backend.
    var secret: String?
    /// The time of the last request for a new key; events that fail within ``requestPause`` of it are skipped.
    private var requestedAt: Duration?
    /// The request in flight for a new key.
    var ticket: Int?
    /// The event that could not be decrypted, and all events received since.
    private(set) var held: [(event: ReceivedEvent, position: ChannelPosition?)] = []
    private var heldBytes = 0

    /// Decrypts an event, or holds it while a new key is requested.
    mutating func receive(
        _ event: ReceivedEvent,
        at position: ChannelPosition?,
        with decrypter: any EventDecrypter,
        mayRequestKey: Bool,
        now: Duration
    ) -> Outcome {
        guard ticket == nil else { return hold(event, at: position) }
        do throws(DecryptionFailure) {
            return .opened(try decrypter.open(event.data ?? "", sharedSecret: secret ?? ""))
        } catch {
            // A new key does not help if the event is not encrypted at all.
            guard error.mayHaveAnotherKey, mayRequestKey,
                requestedAt.map({ now - $0 >= Self.requestPause }) ?? true
            else { return .failed(reason: "\(error)") }
            requestedAt = now
            return .needsKey
        }
    }

    private mutating func hold(_ event: ReceivedEvent, at position: ChannelPosition?) -> Outcome {
        let bytes = event.data?.utf8.count ?? 0
        guard held.count < Self.heldCountMax, heldBytes + bytes <= Self.heldBytesMax else {
            let limits = "\(Self.heldCountMax) events or \(Self.heldBytesMax) bytes"
            return .failed(reason: "\(limits) wait for a key")
        }
        held.append((event, position))
        heldBytes += bytes
        return .held
    }

    mutating func takeHeld() -> [(event: ReceivedEvent, position: ChannelPosition?)] {
        heldBytes = 0
        return exchange(&held, with: [])
    }

    /// Ends the request for a new key, `nil` if it failed; returns whether the key has changed.
    mutating func endRequest(_ new: String?) -> Bool {
        ticket = nil
        guard let new, new != secret else { return false }
        secret = new
        return true
    }
}
