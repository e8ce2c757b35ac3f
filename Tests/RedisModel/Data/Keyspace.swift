/// The data of a server, by the types of their keys.
///
/// No key ever changes its type, so each type has a table of its own. As in Redis, a collection without elements does not
/// exist, except a stream.
package struct Keyspace: Sendable {
    /// When the data is read or changed, in milliseconds since 1970.
    ///
    /// Keys expire by it. It never goes back.
    package private(set) var time: Int64 = 0
    private var strings: [ByteString: ByteString] = [:]
    private var hashes: [ByteString: [ByteString: ByteString]] = [:]
    private var sets: [ByteString: Set<ByteString>] = [:]
    private var sortedSets: [ByteString: SortedSet] = [:]
    private var streams: [ByteString: EntryStream] = [:]
    private var expiries: [ByteString: Expiry] = [:]
    /// A time before which no key expires.
    private var nextExpiry = Int64.max

    /// When a key expires.
    package struct Expiry: Sendable {
        /// In milliseconds since 1970.
        package let time: Int64
        /// The whole lifetime that the key was given last, in milliseconds.
        package let lifetime: Int64
    }

    package init() {}

    // MARK: Keys

    package subscript(string key: ByteString) -> ByteString? {
        get { strings[key] }
        set {
            strings[key] = newValue
            // As SET does.
            expiries[key] = nil
        }
    }

    package subscript(hash key: ByteString) -> [ByteString: ByteString] {
        get { hashes[key] ?? [:] }
        _modify {
            yield &hashes[key, default: [:]]
            if hashes[key]?.isEmpty == true { remove(key) }
        }
    }

    package subscript(set key: ByteString) -> Set<ByteString> {
        get { sets[key] ?? [] }
        _modify {
            yield &sets[key, default: []]
            if sets[key]?.isEmpty == true { remove(key) }
        }
    }

    package subscript(sorted key: ByteString) -> SortedSet {
        get { sortedSets[key] ?? SortedSet() }
        _modify {
            yield &sortedSets[key, default: SortedSet()]
            if sortedSets[key]?.isEmpty == true { remove(key) }
        }
    }

    package subscript(stream key: ByteString) -> EntryStream? {
        get { streams[key] }
        _modify {
            yield &streams[key]
            if streams[key] == nil { remove(key) }
        }
    }

    /// The type of a key, as `TYPE` names it; nil for none.
    package func type(of key: ByteString) -> String? {
        if strings[key] != nil { return "string" }
        if hashes[key] != nil { return "hash" }
        if sets[key] != nil { return "set" }
        if sortedSets[key] != nil { return "zset" }
        return streams[key] == nil ? nil : "stream"
    }

    /// All keys, sorted.
    package var keys: [ByteString] {
        (Array(strings.keys) + hashes.keys + sets.keys + sortedSets.keys + streams.keys).sorted()
    }

    /// Removes a key; returns whether it existed.
    @discardableResult
    package mutating func remove(_ key: ByteString) -> Bool {
        let existed = type(of: key) != nil
        strings[key] = nil
        hashes[key] = nil
        sets[key] = nil
        sortedSets[key] = nil
        streams[key] = nil
        expiries[key] = nil
        return existed
    }

    /// Sets a counter, whose expiry stays.
    mutating func setCounter(_ key: ByteString, to number: Int64) {
        strings[key] = ByteString(number)
    }

    // MARK: Expiry

    /// When a key expires; nil if it stays.
    package func expiry(of key: ByteString) -> Expiry? { expiries[key] }

    /// Has an existing key expire after a time in milliseconds.
    package mutating func expire(_ key: ByteString, after lifetime: Int64) {
        guard lifetime > 0 else {
            remove(key)
            return
        }
        expiries[key] = Expiry(time: time + lifetime, lifetime: lifetime)
        nextExpiry = min(nextExpiry, time + lifetime)
    }

    /// Moves the clock; returns the keys that expire.
    @discardableResult
    package mutating func advance(to time: Int64) -> [ByteString] {
        self.time = max(self.time, time)
        guard self.time > nextExpiry else { return [] }
        // Redis keeps a key in the millisecond of its expiry (`keyIsExpired`).
        let expired = expiries.filter { $0.value.time < self.time }.keys.sorted()
        for key in expired { remove(key) }
        nextExpiry = expiries.values.map(\.time).min() ?? .max
        return expired
    }
}
