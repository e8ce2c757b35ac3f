/// Reads an input as a sequence of choices; at its end, every choice is zero.
package struct Choices {
    private var rest: ArraySlice<UInt8>

    package init(_ input: [UInt8]) { rest = input[...] }

    package var isEmpty: Bool { rest.isEmpty }

    /// The next byte.
    package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// A number below `count`.
    package mutating func index(below count: Int) -> Int { Int(byte()) % count }

    /// A boolean.
    package mutating func bool() -> Bool { byte() & 1 == 1 }

    /// A length byte, and that many bytes, or all that are left.
    package mutating func bytes() -> [UInt8] {
        let length = Int(byte())
        defer { rest = rest.dropFirst(length) }
        return Array(rest.prefix(length))
    }

    /// All remaining bytes.
    package mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
