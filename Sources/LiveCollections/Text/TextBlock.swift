/// A length in Unicode scalars, UTF-16 units and UTF-8 bytes.
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

    /// Returns the extent of scalars.
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

/// Adjacent scalars of one replica with consecutive times, all visible or all deleted.
///
/// The scalars themselves are in the sequence's store, from `start` on.
struct TextBlock: Sendable {
    var id: ScalarID
    /// The number of scalars.
    var count: Int
    /// The index of the first scalar in the store; meaningless for a deleted block.
    var start: Int
    /// The visible extent; zero for a deleted block.
    var visible: TextExtent

    var isDeleted: Bool { visible.scalars == 0 }
    var endTime: UInt64 { id.time + UInt64(count) }
    var range: ScalarRange { ScalarRange(id, count: count) }

    /// Whether `next`, which follows this block, can be merged into it.
    func continues(with next: TextBlock) -> Bool {
        next.id.replica == id.replica && next.id.time == endTime && next.isDeleted == isDeleted
            && (isDeleted || next.start == start + count)
    }

    /// Merges `next`, for which ``continues(with:)`` is true.
    mutating func append(_ next: TextBlock) {
        count += next.count
        visible += next.visible
    }
}
