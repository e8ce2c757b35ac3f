/// One step of one replica: what it did to the text, in names and not in offsets, so that it means the same
/// wherever and whenever it arrives.
public enum TextOperation: Hashable, Sendable {
    /// Scalars were typed: `text` goes right of the scalar `after`, or to the very front if that is `nil`.
    ///
    /// The scalars get the times from `time` on. They are later than that of `after`, and than those of
    /// everything that the replica typed before.
    case insert(time: UInt64, after: ScalarID?, text: String)
    /// Scalars were deleted, by whomever they were typed.
    case delete(ScalarRange)
}

extension TextOperation {
    /// How many numbers it takes: one for each scalar typed, one for a deletion.
    ///
    /// So it makes no difference whether a word travels as one operation or letter by letter.
    var numberCount: UInt64 {
        switch self {
        case .insert(_, _, let text): UInt64(text.unicodeScalars.count)
        case .delete: 1
        }
    }

    /// What is left of it without its first `count` numbers, of which it has more.
    func dropping(_ count: UInt64, by replica: ReplicaID) -> TextOperation {
        guard count > 0, case .insert(let time, _, let text) = self else { return self }
        let rest = text.unicodeScalars.dropFirst(Int(count))
        let left = ScalarID(time: time + count - 1, replica: replica)
        return .insert(time: time + count, after: left, text: String(rest))
    }

    /// The two as one, where the second goes on typing where the first stopped; else `nil`.
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

/// How much a text takes, and holds for others.
public struct TextLimits: Sendable, Equatable {
    /// The most Unicode scalars of a text.
    public var length = 100_000
    /// The most operations that wait for others which they build upon.
    public var waitingOperations = 1_000
    /// The most Unicode scalars of one operation; more are written as several operations.
    ///
    /// However they are escaped, this many fit into an event of 10 kB.
    public static let insertedByOperation = 1_000
    /// How far ahead of everything known the time of an operation may be.
    ///
    /// More than anybody types while offline. Without it one operation could use up all of time.
    static let timeLeap: UInt64 = 1 << 24

    /// The default of each.
    public init() {}
}

/// What keeps a text from being edited, or an operation from being taken in.
public enum TextError: Error, Hashable, Sendable {
    /// The offsets are not offsets of this text, whose length is `length` UTF-16 units.
    case outOfBounds(range: Range<Int>, length: Int)
    /// The offset is in the middle of a surrogate pair.
    case insideScalar(offset: Int)
    /// The text would have `length` scalars.
    case tooLong(length: Int, limit: Int)
    /// More operations wait for others than may; the one that came last was not taken in.
    case tooManyWaiting(limit: Int)
    /// An operation that no replica writes.
    case malformed(replica: ReplicaID, number: UInt64, reason: String)
}

extension TextError: CustomStringConvertible {
    /// What is wrong and what to do, in a sentence or two.
    public var description: String {
        switch self {
        case .outOfBounds(let range, let length):
            "there is no range \(range) in a text of \(length) UTF-16 units"
        case .insideScalar(let offset):
            "offset \(offset) is in the middle of a surrogate pair: edit before or after it"
        case .tooLong(let length, let limit):
            "the text would have \(length) Unicode scalars, and takes \(limit) at most"
        case .tooManyWaiting(let limit):
            "\(limit) operations wait for others that are missing: recover what was missed"
        case .malformed(let replica, let number, let reason):
            "operation \(number) of replica \(replica.rawValue) is malformed: \(reason)"
        }
    }
}
