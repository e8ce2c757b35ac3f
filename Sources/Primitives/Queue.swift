/// A first-in, first-out queue in one array.
///
/// Elements are removed at a head index, and the array is shortened when half of it is removed. So the cost of a
/// removal is constant on average. Each element is released when it is removed, not together with thousands of others.
@frozen
public struct Queue<Element> {
    @usableFromInline var storage: [Element?] = []
    /// The index of the oldest element.
    @usableFromInline var head = 0

    /// The elements of a queue, or some of them.
    public typealias Elements = LazyMapSequence<ArraySlice<Element?>, Element>

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
    @inlinable public var last: Element? { storage.last ?? nil }
    /// The elements, the oldest first; their indices in the slice are not those of the queue.
    @inlinable public var elements: Elements {
        // Elements that have not been removed are not nil.
        // swift-format-ignore: NeverForceUnwrap
        storage[head...].lazy.map { $0! }
    }

    // swift-format-ignore: NeverForceUnwrap
    /// The element at an index; that of the oldest is 0.
    @inlinable
    public subscript(index: Int) -> Element {
        get { storage[head + index]! }
        _modify { yield &storage[head + index]! }
    }

    /// Appends the newest element.
    @inlinable
    public mutating func append(_ element: Element) { storage.append(element) }

    /// Removes and returns the oldest element; there has to be one.
    @inlinable
    @discardableResult
    public mutating func removeFirst() -> Element {
        guard !isEmpty, let element = storage[head].take() else {
            preconditionFailure("the queue has no elements")
        }
        advance(by: 1)
        return element
    }

    /// Removes this number of the oldest elements; at least as many must exist.
    @inlinable
    public mutating func removeFirst(_ count: Int) {
        precondition(0...self.count ~= count, "the queue has fewer elements")
        for index in head..<head + count { storage[index] = nil }
        advance(by: count)
    }

    @inlinable
    mutating func advance(by count: Int) {
        head += count
        if head == storage.count {
            storage.removeAll(keepingCapacity: storage.capacity <= 4_096)
            head = 0
        } else if head >= 32, head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
    }

    /// The elements that satisfy a condition, in their order.
    public func filter(_ isIncluded: (Element) -> Bool) -> Queue {
        var queue = Queue()
        for element in elements where isIncluded(element) { queue.append(element) }
        return queue
    }

    /// Inserts elements before all others; the cost grows with the whole queue.
    public mutating func prepend(_ elements: some Collection<Element>) {
        storage.replaceSubrange(..<head, with: elements.map { $0 })
        head = 0
    }
}

extension Queue: Sendable where Element: Sendable {}
