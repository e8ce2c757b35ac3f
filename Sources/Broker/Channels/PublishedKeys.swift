import PusherProtocol

/// The idempotency keys of the events that one home shard has published lately.
///
/// A key is remembered for its app's `idempotencyAge`, or until newer ones of the app take its place. All times are
/// milliseconds of one steady clock.
public struct PublishedKeys: Sendable {
    /// What a key says about an event.
    public enum Verdict: Sendable {
        /// The key is new: the event is to be published.
        case new
        /// The same event was published under this key: it is not published again.
        case repeated
        /// Another event was published under this key: this one is refused.
        case conflicting
    }

    private struct Place: Hashable {
        let channel: ChannelName
        let key: IdempotencyKey
    }

    /// The keys of one app.
    private struct Store {
        var digests: [Place: Int] = [:]
        /// The keys in the order of their events, which is that of their expiry.
        var line: [(place: Place, expiry: Int64)] = []
        var lineStart = 0

        var first: Int64? { lineStart < line.count ? line[lineStart].expiry : nil }

        mutating func dropFirst() {
            digests[line[lineStart].place] = nil
            lineStart += 1
            if lineStart * 2 > line.count {
                line.removeFirst(lineStart)
                lineStart = 0
            }
        }
    }

    private var stores: [AppID: Store] = [:]

    /// Whether there is no key, and ``expire(at:)`` has nothing to remove.
    public var isEmpty: Bool { stores.isEmpty }

    /// The number of keys, expired ones included until ``expire(at:)``.
    public var count: Int { stores.values.reduce(0) { $0 + $1.digests.count } }

    /// Checks the key of an event, and remembers it if it is new.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - digest: The event's digest.
    ///   - address: The event's channel.
    ///   - now: The time.
    ///   - age: How long to remember the key, in milliseconds.
    ///   - keysMax: The maximum number of keys of the app.
    /// - Returns: The verdict, and whether an older key was forgotten before its time.
    mutating func check(
        _ key: IdempotencyKey,
        digest: Int,
        on address: ChannelAddress,
        at now: Int64,
        age: Int64,
        keysMax: Int
    ) -> (verdict: Verdict, isFull: Bool) {
        expire(at: now)
        let place = Place(channel: address.name, key: key)
        if let known = stores[address.app]?.digests[place] {
            return (known == digest ? .repeated : .conflicting, false)
        }
        guard keysMax > 0, age > 0 else { return (.new, true) }
        var isFull = false
        if stores[address.app]?.digests.count ?? 0 >= keysMax {
            stores[address.app]?.dropFirst()
            isFull = true
        }
        stores[address.app, default: Store()].digests[place] = digest
        stores[address.app, default: Store()].line.append((place, now + age))
        return (.new, isFull)
    }

    /// Removes expired keys.
    mutating func expire(at now: Int64) {
        for app in stores.keys {
            while let expiry = stores[app]?.first, expiry <= now { stores[app]?.dropFirst() }
            if stores[app]?.first == nil { stores[app] = nil }
        }
    }
}
