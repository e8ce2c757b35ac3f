/// One row that takes the place of another, named by index and by id.
///
/// A request carries what a screen showed; an event carries what was true when the row was moved.
struct Move: Equatable, Sendable {
    var sourceIndex: Int
    var destinationIndex: Int
    var sourceID: Int64
    var destinationID: Int64

    /// The row behind which the moved row belongs.
    ///
    /// - Parameters:
    ///   - order: The ids as they are now, the moved one among them.
    ///   - source: The moved row's index in `order`.
    /// - Returns: The id of that row, or `nil` for the first place.
    func anchor(in order: [Int64], from source: Int) -> Int64? {
        let index = destination(in: order, from: source)
        var others = order
        others.remove(at: source)
        return index > 0 ? others[index - 1] : nil
    }

    /// Where the row belongs: past the destination's row when it was dragged down, else before it.
    private func destination(in order: [Int64], from source: Int) -> Int {
        guard let anchor = order.firstIndex(of: destinationID) else {
            // Somebody removed that row meanwhile: keep the place as nearly as the list allows.
            return min(max(destinationIndex, 0), order.count - 1)
        }
        if anchor == source { return source }
        let draggedDown = destinationIndex > sourceIndex
        // Taking the row out shifts everything below it up by one.
        let remaining = anchor > source ? anchor - 1 : anchor
        return draggedDown ? remaining + 1 : remaining
    }
}
