/// A length, in every unit that somebody counts in.
struct TextExtent: Equatable, Sendable {
    var scalars = 0
    var utf16 = 0
    var utf8 = 0

    static let zero = TextExtent()

    static func + (left: TextExtent, right: TextExtent) -> TextExtent {
        TextExtent(
            scalars: left.scalars + right.scalars,
            utf16: left.utf16 + right.utf16,
            utf8: left.utf8 + right.utf8
        )
    }

    static func += (left: inout TextExtent, right: TextExtent) { left = left + right }

    static func -= (left: inout TextExtent, right: TextExtent) {
        left.scalars -= right.scalars
        left.utf16 -= right.utf16
        left.utf8 -= right.utf8
    }

    /// The extent of scalars.
    static func of(_ scalars: some Sequence<Unicode.Scalar>) -> TextExtent {
        var extent = TextExtent.zero
        for scalar in scalars {
            extent.scalars += 1
            extent.utf16 += UTF16.width(scalar)
            extent.utf8 += UTF8.width(scalar)
        }
        return extent
    }
}

/// Neighbours in the text that one replica typed one after the other, all of them visible or all deleted.
///
/// A plain value without references: the scalars are in the sequence's store, from `start` on.
struct TextBlock: Sendable {
    var id: ScalarID
    /// How many scalars, deleted or not.
    var count: Int
    /// Where the first scalar is in the store; without meaning once it is deleted.
    var start: Int
    /// What is to be seen of it: zero when it is deleted.
    var visible: TextExtent

    var isDeleted: Bool { visible.scalars == 0 }
    var endTime: UInt64 { id.time + UInt64(count) }
    var range: ScalarRange { ScalarRange(id, count: count) }

    /// Whether `next`, which stands right of this, can become a part of it.
    func continues(with next: TextBlock) -> Bool {
        next.id.replica == id.replica && next.id.time == endTime && next.isDeleted == isDeleted
            && (isDeleted || next.start == start + count)
    }

    /// Takes in `next`, for which ``continues(with:)`` is true.
    mutating func append(_ next: TextBlock) {
        count += next.count
        visible += next.visible
    }
}
