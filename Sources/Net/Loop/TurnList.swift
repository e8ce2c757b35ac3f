/// A work list of a turn, in order.
///
/// Elements appended while it is processed wait for the next `take()`.
///
/// Elements are moved in and out, so that streams are not retained and released, and the arrays are reused:
///
/// ```swift
/// var streams = dirty.take()
/// while let stream = streams.popLast() { stream.flush() }
/// dirty.recycle(streams)
/// ```
struct TurnList<Element> {
    private var elements: [Element] = []
    /// The array of a processed list, for reuse.
    private var spare: [Element] = []

    var isEmpty: Bool { elements.isEmpty }

    mutating func append(_ element: consuming Element) { elements.append(element) }

    /// Removes and returns all elements, in reverse order.
    mutating func take() -> [Element] {
        // In place: an array's own `reverse()` retains what it moves.
        elements.withUnsafeMutableBufferPointer { $0.reverse() }
        return exchange(&elements, with: exchange(&spare, with: []))
    }

    /// Takes back the array of a processed list.
    mutating func recycle(_ done: consuming [Element]) {
        assert(done.isEmpty, "something was left undone")
        spare = done
    }

    /// Removes all elements.
    mutating func removeAll() { self = TurnList() }
}
