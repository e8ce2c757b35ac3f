import Primitives

/// A part of a value: its type, and its bytes or the number of its elements.
struct RESPNode {
    let kind: RESPKind
    /// The first byte, from the value's first.
    let start: UInt32
    /// The number of bytes, or of elements.
    let length: UInt32
    /// The index of the first node after the part's own.
    var end: UInt32
}

/// A received value, or a part of one, in the bytes in which it was received.
///
/// Valid while it is borrowed. A server may send any RESP3, so nothing here traps. An element that does not exist is a
/// null, and a value of another type is nil.
public struct RESPView: ~Copyable {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let nodes: UnsafeBufferPointer<RESPNode>
    /// The part's index in `nodes`; -1 for one that does not exist.
    private let index: Int

    // SAFETY: both buffers outlive the view, which cannot be copied out of the call that it is lent to.
    init(
        bytes: UnsafeBufferPointer<UInt8>,
        nodes: UnsafeBufferPointer<RESPNode>,
        index: Int
    ) {
        self.bytes = bytes
        self.nodes = nodes
        self.index = index
    }

    private var node: RESPNode {
        index < 0 ? RESPNode(kind: .null, start: 0, length: 0, end: 0) : nodes[index]
    }

    /// The type.
    public var kind: RESPKind { node.kind }

    /// Whether this is a null, or does not exist.
    public var isNull: Bool { kind == .null }

    /// Whether this is an error.
    public var isError: Bool { kind == .simpleError || kind == .bulkError }

    // MARK: Elements

    /// The number of elements, in a map of keys and values; zero if this is not an aggregate.
    public var count: Int { kind.isAggregate ? Int(node.length) : 0 }

    /// An element of an aggregate by its position from zero; a null after the last one.
    ///
    /// A map's keys are at even positions, each before its value. Takes constant time if no element has elements
    /// itself; see ``forEach(_:)``.
    public subscript(position: Int) -> RESPView {
        _read { yield RESPView(bytes: bytes, nodes: nodes, index: nodeIndex(of: position)) }
    }

    private func nodeIndex(of position: Int) -> Int {
        guard position >= 0, position < count else { return -1 }
        if Int(node.end) == index + 1 + count { return index + 1 + position }
        var index = index + 1
        for _ in 0..<position { index = Int(nodes[index].end) }
        return index
    }

    /// Calls `body` with each element in order.
    public func forEach<Failure: Error>(
        _ body: (borrowing RESPView) throws(Failure) -> Void
    ) throws(Failure) {
        var index = index + 1
        for _ in 0..<count {
            try body(RESPView(bytes: bytes, nodes: nodes, index: index))
            index = Int(nodes[index].end)
        }
    }

    /// The value of a map's first entry with a key; a null if there is none.
    ///
    /// Takes time in proportion to the entries before it.
    public subscript(key: StaticString) -> RESPView {
        _read { yield RESPView(bytes: bytes, nodes: nodes, index: nodeIndex(of: key)) }
    }

    private func nodeIndex(of key: StaticString) -> Int {
        guard kind == .map else { return -1 }
        var index = index + 1
        for _ in 0..<(count / 2) {
            let value = Int(nodes[index].end)
            if RESPView(bytes: bytes, nodes: nodes, index: index).equals(key) { return value }
            index = Int(nodes[value].end)
        }
        return -1
    }

    // MARK: Bytes

    /// The number of bytes of its strings, or of the texts of its numbers, in all elements together.
    public var byteCount: Int {
        guard index >= 0 else { return 0 }
        return nodes[index..<Int(node.end)].reduce(0) {
            $1.kind.isAggregate ? $0 : $0 + Int($1.length)
        }
    }

    /// Calls `body` with the bytes of a string or an error, or the text of a number; none for an aggregate.
    ///
    /// A verbatim string's format is not part of its bytes.
    public func withBytes<Success, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        let node = node
        guard !node.kind.isAggregate else { return try body(Span()) }
        let range = Int(node.start)..<Int(node.start + node.length)
        return try body(UnsafeBufferPointer(rebasing: bytes[range]).span)
    }

    /// Returns a copy of the bytes.
    public func copy() -> [UInt8] { withBytes { $0.copy() } }

    /// The bytes as text; invalid UTF-8 becomes U+FFFD.
    public var text: String { withBytes { $0.string() } }

    /// Returns whether the bytes equal `literal`; false for an aggregate.
    public func equals(_ literal: StaticString) -> Bool {
        !kind.isAggregate && withBytes { $0.equals(literal) }
    }

    // MARK: Numbers

    /// An integer, also one in a string, because the values of hashes are strings; nil for anything else.
    public var integer: Int64? {
        switch kind {
        case .integer, .bulkString, .simpleString: withBytes { RESPNumber.integer($0) }
        default: nil
        }
    }

    /// An integer from 0 to 2^53 − 1, also one in a string; nil for anything else.
    ///
    /// A script's numbers are in this range, so another number indicates damaged data; see `SafeInteger`.
    public var safeInteger: Int64? { integer.flatMap { Int64(safe: $0) } }

    /// A count, also one in a string: the nearest integer from 0 to 2^53 − 1; nil if it is not an integer.
    public var clampedCount: Int64? { integer.map { min(max(0, $0), SafeInteger.max) } }

    /// A number, also one in a string; nil for anything else.
    public var double: Double? {
        switch kind {
        case .double, .integer, .bulkString, .simpleString:
            withBytes { RESPNumber.isDouble($0) ? Double($0.string()) : nil }
        default: nil
        }
    }

    /// A boolean; nil for anything else.
    public var boolean: Bool? { kind == .boolean ? equals("t") : nil }
}
