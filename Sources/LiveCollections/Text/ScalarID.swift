/// Who edits a text: one open document on one device, for as long as it is open.
///
/// Drawn at random by whoever edits, so nobody has to hand them out.
public struct ReplicaID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    /// The largest: 2^48 − 1, which every JSON reader keeps exactly.
    public static let max = ReplicaID(value: 1 << 48 - 1)

    /// The number, at least 1.
    public let rawValue: UInt64

    /// Takes a number.
    ///
    /// - Parameter rawValue: From 1 to 2^48 − 1; otherwise there is no such replica.
    public init?(rawValue: UInt64) {
        guard rawValue > 0, rawValue <= Self.max.rawValue else { return nil }
        self.rawValue = rawValue
    }

    private init(value: UInt64) { rawValue = value }

    /// Draws a number that nobody else has drawn, in all likelihood.
    public static func random() -> ReplicaID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Draws a number, in a test the same one each time.
    public static func random(using generator: inout some RandomNumberGenerator) -> ReplicaID {
        ReplicaID(value: UInt64.random(in: 1...Self.max.rawValue, using: &generator))
    }

    /// Orders by the number.
    public static func < (left: ReplicaID, right: ReplicaID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The name of one Unicode scalar of a text, for ever.
///
/// The unit is the scalar and not the `Character`: two people may add to one grapheme cluster at the same
/// time, and what is one character to the reader was then typed by both.
public struct ScalarID: Hashable, Comparable, Sendable {
    /// The largest Lamport time: 2^53 − 1, which every JSON reader keeps exactly.
    public static let timeMax: UInt64 = 1 << 53 - 1

    /// When it was typed, in Lamport's time: later than everything that its writer had seen.
    public var time: UInt64
    /// Who typed it.
    public var replica: ReplicaID

    /// Names the scalar that `replica` typed at `time`.
    public init(time: UInt64, replica: ReplicaID) {
        self.time = time
        self.replica = replica
    }

    /// Orders by time, and what was typed at the same time by replica.
    public static func < (left: ScalarID, right: ScalarID) -> Bool {
        left.time != right.time ? left.time < right.time : left.replica < right.replica
    }

    /// The scalar that the same replica typed `distance` later in one run.
    func advanced(by distance: Int) -> ScalarID {
        ScalarID(time: time + UInt64(distance), replica: replica)
    }
}

/// Scalars that one replica typed one after the other: their times are consecutive.
public struct ScalarRange: Hashable, Sendable {
    /// The first of them.
    public var start: ScalarID
    /// How many there are, at least 1.
    public var count: Int

    /// Names `count` scalars from `start` on.
    public init(_ start: ScalarID, count: Int) {
        self.start = start
        self.count = count
    }

    /// The last of them.
    public var last: ScalarID { start.advanced(by: count - 1) }

    /// Whether a scalar is one of them.
    func contains(_ id: ScalarID) -> Bool {
        id.replica == start.replica && id.time >= start.time && id.time < endTime
    }

    /// The time after the last of them.
    var endTime: UInt64 { start.time + UInt64(count) }
}
