/// The number of a call on its connection; the first is 1.
///
/// Calls are answered in the order of their numbers.
public struct CallID: Hashable, Comparable, Strideable, Sendable {
    /// The number.
    public let number: UInt64

    /// Makes the ID of a call.
    public init(number: UInt64) { self.number = number }

    /// Compares by number.
    public static func < (left: CallID, right: CallID) -> Bool { left.number < right.number }

    /// Returns how many calls later `other` is.
    public func distance(to other: CallID) -> Int { Int(other.number) - Int(number) }

    /// Returns the ID of the call that is `distance` later.
    public func advanced(by distance: Int) -> CallID {
        CallID(number: UInt64(Int(number) + distance))
    }
}
