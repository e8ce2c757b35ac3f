public import RESP

/// The amount of an app's data that a pool keeps.
public struct KeptUse: Hashable, Sendable {
    /// The size of the messages, in bytes.
    public var bytes = 0
    /// The number of streams of channels without subscriptions.
    public var streams = 0
    /// The number of idempotency keys.
    public var keys = 0

    /// Makes an empty use.
    public init() {}

    /// Adds another use, and deducts a former one.
    public mutating func add(_ other: KeptUse, inPlaceOf former: KeptUse) {
        bytes += other.bytes - former.bytes
        streams += other.streams - former.streams
        keys += other.keys - former.keys
    }
}

/// The reply to `uses`.
public struct KeptUses: Hashable, Sendable {
    /// The use of all apps, of which only the bytes are known.
    public var all = KeptUse()
    /// The use of each app, in the order of the call.
    public var apps: [KeptUse] = []

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard reply.kind == .array, reply.count % 3 == 1 else { return nil }
        var numbers: [Int] = []
        reply.forEach { element in
            if let number = element.clampedCount { numbers.append(Int(number)) }
        }
        guard numbers.count == reply.count else { return nil }
        all.bytes = numbers[0]
        for index in stride(from: 1, to: numbers.count, by: 3) {
            var use = KeptUse()
            (use.bytes, use.streams, use.keys) = (
                numbers[index], numbers[index + 1], numbers[index + 2]
            )
            apps.append(use)
        }
    }
}
