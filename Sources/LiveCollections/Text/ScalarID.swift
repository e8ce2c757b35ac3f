/// The ID of a replica: one open document on one device, for as long as it is open.
///
/// Each replica draws its ID at random, so no registration is needed.
package struct ReplicaID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    /// The largest ID: 2^48 − 1, which every JSON reader represents exactly.
    package static let max = ReplicaID(value: 1 << 48 - 1)

    /// The number, at least 1.
    package let rawValue: UInt64

    /// Creates an ID from a number from 1 to 2^48 − 1; `nil` for any other.
    package init?(rawValue: UInt64) {
        guard rawValue > 0, rawValue <= Self.max.rawValue else { return nil }
        self.rawValue = rawValue
    }

    private init(value: UInt64) { rawValue = value }

    /// Draws a random ID; a collision is improbable.
    package static func random() -> ReplicaID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    /// Draws an ID with a generator, for reproducible tests.
    package static func random(using generator: inout some RandomNumberGenerator) -> ReplicaID {
        ReplicaID(value: UInt64.random(in: 1...Self.max.rawValue, using: &generator))
    }

    /// Orders by the number.
    package static func < (left: ReplicaID, right: ReplicaID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The permanent ID of one Unicode scalar of a text.
///
/// The unit is the scalar, not the `Character`, because two users may add to one grapheme cluster at the same time.
package struct ScalarID: Hashable, Comparable, Sendable {
    /// The largest Lamport time: 2^53 − 1, which every JSON reader represents exactly.
    package static let timeMax: UInt64 = 1 << 53 - 1

    /// The Lamport time: later than the time of every scalar that its replica had received.
    package var time: UInt64
    /// The replica that typed it.
    package var replica: ReplicaID

    /// Creates the ID of the scalar that `replica` typed at `time`.
    package init(time: UInt64, replica: ReplicaID) {
        self.time = time
        self.replica = replica
    }

    /// Orders by time, then by replica.
    package static func < (left: ScalarID, right: ScalarID) -> Bool {
        left.time != right.time ? left.time < right.time : left.replica < right.replica
    }

    /// Returns the ID of the scalar that is `distance` later in a run of the same replica.
    func advanced(by distance: Int) -> ScalarID {
        ScalarID(time: time + UInt64(distance), replica: replica)
    }
}

/// Scalars of one replica with consecutive times.
package struct ScalarRange: Hashable, Sendable {
    /// The first scalar.
    package var start: ScalarID
    /// The number of scalars, at least 1.
    package var count: Int

    /// Creates a range of `count` scalars from `start` on.
    package init(_ start: ScalarID, count: Int) {
        self.start = start
        self.count = count
    }

    /// The last scalar.
    package var last: ScalarID { start.advanced(by: count - 1) }

    /// Returns whether the range contains a scalar.
    func contains(_ id: ScalarID) -> Bool {
        id.replica == start.replica && id.time >= start.time && id.time < endTime
    }

    /// The time after the last scalar.
    var endTime: UInt64 { start.time + UInt64(count) }
}
