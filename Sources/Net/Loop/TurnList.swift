/// What is to be done in a turn, in order; what is noted while it is done is for the next time.
///
/// Elements are moved in and out, so that a stream is not retained and released again on its way, and the memory stays:
///
/// ```swift
/// var streams = dirty.take()
/// while let stream = streams.popLast() { stream.flush() }
/// dirty.giveBack(streams)
/// ```
struct TurnList<Element> {
    private var elements: [Element] = []
    /// The memory of a list that was done.
    private var spare: [Element] = []

    var isEmpty: Bool { elements.isEmpty }

    mutating func append(_ element: consuming Element) { elements.append(element) }

    /// Takes all elements, the first one at the end.
    mutating func take() -> [Element] {
        // In place: an array's own `reverse()` retains what it moves.
        elements.withUnsafeMutableBufferPointer { $0.reverse() }
        return exchange(&elements, with: exchange(&spare, with: []))
    }

    /// Takes back the memory of a list that is done.
    mutating func giveBack(_ done: consuming [Element]) {
        assert(done.isEmpty, "something was left undone")
        spare = done
    }

    /// Drops everything.
    mutating func removeAll() { self = TurnList() }
}
