public import PusherProtocol

/// The idempotency keys of the events that one home shard has published recently.
///
/// A key is remembered for its app's `idempotencyAge`, or until newer ones of the app replace it. All times are
/// milliseconds of one steady clock.
public struct PublishedKeys: Sendable {
    /// The result of checking a key.
    public enum Verdict: Sendable, Equatable {
        /// The key is new: the event is to be published.
        case new
        /// The same event was published under this key, at this position if it was numbered; it is not published again.
        case repeated(ChannelPosition?)
        /// Another event was published under this key: this one is refused.
        case conflicting
    }

    private struct Place: Hashable {
        let channel: ChannelName
        let key: IdempotencyKey
    }

    /// What was published under a key.
    private struct Event {
        let digest: UInt64
        let position: ChannelPosition?
    }

    /// The keys of one app.
    private struct Store {
        var events: [Place: Event] = [:]
        /// The keys in the order of their events, which is that of their expiry.
        var line: [(place: Place, expiry: Int64)] = []
        var lineStart = 0

        var first: Int64? { lineStart < line.count ? line[lineStart].expiry : nil }

        mutating func dropFirst() {
            events[line[lineStart].place] = nil
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

    /// The number of keys, including expired ones until ``expire(at:)``.
    public var count: Int { stores.values.reduce(0) { $0 + $1.events.count } }

    /// The number of an app's keys, including expired ones until ``expire(at:)``.
    func count(of app: AppID) -> Int { stores[app]?.events.count ?? 0 }

    /// Checks the key of an event that is to be published.
    mutating func check(
        _ key: IdempotencyKey,
        digest: UInt64,
        on address: ChannelAddress,
        at now: Int64
    ) -> Verdict {
        expire(address.app, at: now)
        let place = Place(channel: address.name, key: key)
        guard let known = stores[address.app]?.events[place] else { return .new }
        return known.digest == digest ? .repeated(known.position) : .conflicting
    }

    /// Remembers the new key of an event that was published, for `age` milliseconds.
    ///
    /// Returns whether an older key was forgotten before it expired because of `keysMax`, or this one is not
    /// remembered. `position` is the event's position, if it is numbered.
    mutating func remember(
        _ key: IdempotencyKey,
        digest: UInt64,
        on address: ChannelAddress,
        position: ChannelPosition?,
        at now: Int64,
        age: Int64,
        keysMax: Int
    ) -> Bool {
        guard keysMax > 0, age > 0 else { return true }
        let place = Place(channel: address.name, key: key)
        let isFull = stores[address.app]?.events.count ?? 0 >= keysMax
        if isFull { stores[address.app]?.dropFirst() }
        let event = Event(digest: digest, position: position)
        stores[address.app, default: Store()].events[place] = event
        stores[address.app, default: Store()].line.append((place, now + age))
        return isFull
    }

    /// The keys with their channels and positions, by app in the order of their expiry.
    ///
    /// - Parameter offset: The milliseconds to add for the time since 1970.
    /// - Returns: The keys.
    func spooled(calendarOffset offset: Int64) -> [SpooledKey] {
        stores.flatMap { app, store in
            store.line[store.lineStart...]
                .compactMap { place, expiry in
                    guard let event = store.events[place] else { return nil }
                    return SpooledKey(
                        address: ChannelAddress(app: app, name: place.channel),
                        key: StoredKey(place.key, digest: event.digest, expiry: expiry + offset),
                        position: event.position
                    )
                }
        }
    }

    /// Restores a key of an earlier run; an app's keys are restored in the order of their expiry.
    mutating func restore(
        _ key: IdempotencyKey,
        digest: UInt64,
        on address: ChannelAddress,
        _ position: ChannelPosition?,
        expiry: Int64
    ) {
        let place = Place(channel: address.name, key: key)
        stores[address.app, default: Store()].events[place] = Event(
            digest: digest,
            position: position
        )
        stores[address.app, default: Store()].line.append((place, expiry))
    }

    /// Removes expired keys.
    mutating func expire(at now: Int64) {
        // A copy of the keys: the dictionary's own keys would share its storage, and the first change would copy every
        // store.
        for app in Array(stores.keys) { expire(app, at: now) }
    }

    /// Removes the expired keys of an app.
    private mutating func expire(_ app: AppID, at now: Int64) {
        guard let first = stores[app]?.first, first <= now else { return }
        while let expiry = stores[app]?.first, expiry <= now { stores[app]?.dropFirst() }
        if stores[app]?.first == nil { stores[app] = nil }
    }
}
