/// A first-in, first-out queue in one array.
///
/// Elements leave at a head index, and the array is shortened when half of it has left: the cost of a removal is constant on
/// average. What has left may stay in memory until then.
@frozen
public struct Queue<Element> {
    @usableFromInline var storage: [Element] = []
    /// The index of the oldest element.
    @usableFromInline var head = 0

    /// Creates an empty queue.
    @inlinable
    public init() {}

    /// Creates a queue of elements in their order.
    @inlinable
    public init(_ elements: some Sequence<Element>) { storage = Array(elements) }

    /// The number of elements.
    @inlinable public var count: Int { storage.count - head }
    /// Whether there are no elements.
    @inlinable public var isEmpty: Bool { head == storage.count }
    /// The oldest element; `nil` if there is none.
    @inlinable public var first: Element? { isEmpty ? nil : storage[head] }
    /// The newest element; `nil` if there is none.
    @inlinable public var last: Element? { isEmpty ? nil : storage[storage.count - 1] }
    /// The elements, the oldest first; their indices in the slice are not those of the queue.
    @inlinable public var elements: ArraySlice<Element> { storage[head...] }

    /// The element at an index; that of the oldest is 0.
    @inlinable
    public subscript(index: Int) -> Element {
        get { storage[head + index] }
        _modify { yield &storage[head + index] }
    }

    /// Appends the newest element.
    @inlinable
    public mutating func append(_ element: Element) { storage.append(element) }

    /// Removes and returns the oldest element; there has to be one.
    @inlinable
    @discardableResult
    public mutating func removeFirst() -> Element {
        let element = storage[head]
        removeFirst(1)
        return element
    }

    /// Removes the oldest elements; there have to be so many.
    @inlinable
    public mutating func removeFirst(_ count: Int) {
        precondition(0...self.count ~= count, "the queue has fewer elements")
        head += count
        if head == storage.count {
            storage.removeAll(keepingCapacity: storage.capacity <= 4_096)
            head = 0
        } else if head >= 32, head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
    }

    /// Puts elements ahead of all others; the cost grows with the whole queue.
    public mutating func prepend(_ elements: some Collection<Element>) {
        storage.replaceSubrange(..<head, with: elements)
        head = 0
    }
}

extension Queue: Sendable where Element: Sendable {}
