import Primitives

/// The ID of a connection: two numbers, written `123.456`.
///
/// Backends sign it to authorize a subscription, and send it with a trigger to exclude a connection. The broker derives
/// the first number from the connection's shard and slot, and chooses the second at random. So IDs are unique in a
/// broker and cannot be guessed.
public struct SocketID: Hashable, Sendable {
    /// The number before the dot.
    public let first: UInt64
    /// The number after the dot.
    public let second: UInt64

    /// Creates an ID from its two numbers.
    public init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Parses an ID in the format of ``description``; `nil` for any other format.
    ///
    /// Leading zeros, and numbers of more than 64 bits, are also refused: such IDs are well-formed, but identify no
    /// connection.
    public init?(parsing bytes: Span<UInt8>) {
        guard let dot = bytes.firstIndex(of: UInt8(ascii: ".")),
            let first = SocketID.number(bytes.extracting(0..<dot)),
            let second = SocketID.number(bytes.extracting(dot + 1..<bytes.count))
        else { return nil }
        self.init(first, second)
    }

    /// Parses an ID in the format of ``description``, or returns `nil`.
    public init?(_ text: String) {
        self.init(parsing: Array(text.utf8).span)
    }

    /// Whether `bytes` has the form that every library requires, `^\d+\.\d+$`.
    public static func isWellFormed(_ bytes: Span<UInt8>) -> Bool {
        var dots = 0
        for index in bytes.indices where !bytes[index].isDigit {
            let isInside = index > 0 && index < bytes.count - 1
            guard bytes[index] == UInt8(ascii: "."), isInside else { return false }
            dots += 1
        }
        return dots == 1
    }

    private static func number(_ digits: Span<UInt8>) -> UInt64? {
        guard !digits.isEmpty, digits.count == 1 || digits[0] != UInt8(ascii: "0") else {
            return nil
        }
        var number: UInt64 = 0
        for index in digits.indices {
            guard digits[index].isDigit else { return nil }
            let (tenfold, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = tenfold.addingReportingOverflow(UInt64(digits[index] - 0x30))
            guard !overflows, !exceeds else { return nil }
            number = sum
        }
        return number
    }
}

extension SocketID: CustomStringConvertible {
    /// The ID in wire format.
    public var description: String { "\(first).\(second)" }

    /// Appends the ID in wire format.
    func append(to bytes: inout [UInt8]) {
        bytes.append(decimal: first)
        bytes.append(UInt8(ascii: "."))
        bytes.append(decimal: second)
    }
}
