/// One edit of one replica; it has scalar IDs instead of offsets, so its meaning does not depend on the order of
/// arrival.
package enum TextOperation: Hashable, Sendable {
    /// Inserts `text` after the scalar `after`, or at the start if that is `nil`.
    ///
    /// The scalars have consecutive times from `time` on. These are later than the times of `after` and of all earlier
    /// scalars of the replica.
    case insert(time: UInt64, after: ScalarID?, text: String)
    /// Deletes scalars of any replica.
    case delete(ScalarRange)
}

extension TextOperation {
    /// The number of steps that the operation counts as: one for each inserted scalar, one for a deletion.
    ///
    /// One operation for a word is therefore equivalent to one operation for each letter.
    var numberCount: UInt64 {
        switch self {
        case .insert(_, _, let text): UInt64(text.unicodeScalars.count)
        case .delete: 1
        }
    }

    /// Returns the operation without its first `count` steps; it must have more.
    func dropping(_ count: UInt64, by replica: ReplicaID) -> TextOperation {
        guard count > 0, case .insert(let time, _, let text) = self else { return self }
        let rest = text.unicodeScalars.dropFirst(Int(count))
        let left = ScalarID(time: time + count - 1, replica: replica)
        return .insert(time: time + count, after: left, text: String(rest))
    }

    /// Merges two insertions if the second continues the first; otherwise returns `nil`.
    func joined(with next: TextOperation, by replica: ReplicaID) -> TextOperation? {
        guard case .insert(let time, let parent, let text) = self,
            case .insert(let nextTime, let nextParent, let nextText) = next,
            nextTime == time + numberCount,
            nextParent == ScalarID(time: nextTime - 1, replica: replica),
            numberCount + next.numberCount <= TextLimits.insertedByOperation
        else { return nil }
        var scalars = text.unicodeScalars
        scalars.append(contentsOf: nextText.unicodeScalars)
        return .insert(time: time, after: parent, text: String(scalars))
    }
}

/// The limits of a text.
public struct TextLimits: Sendable, Equatable {
    /// The maximum number of Unicode scalars of a text.
    public var length = 100_000
    /// The maximum number of operations that wait for missing ones.
    package var waitingOperations = 1_000
    /// The maximum number of Unicode scalars of one operation; a longer text is split.
    ///
    /// This many fit into an event of 10 kB, even if all are escaped.
    package static let insertedByOperation = 1_000
    /// The maximum distance of an operation's time from the latest known time.
    ///
    /// It is more than a user types while offline. Without the limit, one operation could exhaust the times.
    static let timeLeap: UInt64 = 1 << 24

    /// Creates the default limits.
    public init() {}
}

/// An error of an edit or of a received operation.
public enum TextError: Error, Hashable, Sendable {
    /// The range is outside the text, which has `length` UTF-16 units.
    case outOfBounds(range: Range<Int>, length: Int)
    /// The offset is in the middle of a surrogate pair.
    case insideScalar(offset: Int)
    /// The text would have `length` scalars.
    case tooLong(length: Int, limit: Int)
    /// Too many operations wait for missing ones; the last one was not stored.
    case tooManyWaiting(limit: Int)
    /// An operation violates the format.
    case malformed(replica: UInt64, number: UInt64, reason: String)
}

extension TextError {
    /// Creates the error for an operation that violates the format.
    static func malformed(_ reason: String, by replica: ReplicaID, _ number: UInt64) -> TextError {
        .malformed(replica: replica.rawValue, number: number, reason: reason)
    }
}

extension TextError: CustomStringConvertible {
    /// The error and what to do about it.
    public var description: String {
        switch self {
        case .outOfBounds(let range, let length):
            "range \(range) is outside a text of \(length) UTF-16 units"
        case .insideScalar(let offset):
            "offset \(offset) is in the middle of a surrogate pair: edit before or after it"
        case .tooLong(let length, let limit):
            "the text would have \(length) Unicode scalars; the limit is \(limit)"
        case .tooManyWaiting(let limit):
            "\(limit) operations wait for missing ones: recover the missed entries"
        case .malformed(let replica, let number, let reason):
            "operation \(number) of replica \(replica) is malformed: \(reason)"
        }
    }
}
