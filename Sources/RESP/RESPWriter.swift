import Primitives

/// Writes commands as arrays of strings with lengths, which all versions of RESP have.
public struct RESPWriter: Sendable {
    /// The commands.
    public private(set) var bytes: [UInt8] = []
    /// The number of arguments that the last command lacks.
    private var missing = 0

    /// Makes a writer without commands.
    public init() {}

    /// Whether the last command has all its arguments.
    public var isComplete: Bool { missing == 0 }

    /// Begins a command with this number of arguments, including the command's name; at least one.
    public mutating func begin(argumentCount count: Int) {
        precondition(isComplete, "the last command lacks \(missing) arguments")
        precondition(count > 0, "a command has a name")
        missing = count
        bytes.append(RESPKind.array.rawValue)
        bytes.append(decimal: count)
        endLine()
    }

    /// Appends an argument.
    public mutating func argument(_ argument: Span<UInt8>) {
        header(argument.count)
        bytes.append(argument)
        endLine()
    }

    /// Appends an argument.
    public mutating func argument(_ argument: [UInt8]) { self.argument(argument.span) }

    /// Appends an argument in UTF-8.
    public mutating func argument(_ argument: String) {
        header(argument.utf8.count)
        bytes.append(contentsOf: argument.utf8)
        endLine()
    }

    /// Appends a literal as an argument.
    public mutating func argument(literal: StaticString) {
        header(literal.utf8CodeUnitCount)
        bytes.append(literal)
        endLine()
    }

    /// Appends a number in decimal digits as an argument.
    public mutating func argument(_ number: Int) {
        let sign = number < 0 ? 1 : 0
        header(UInt64(number.magnitude).decimalDigitCount + sign)
        bytes.append(decimal: number)
        endLine()
    }

    /// Appends an argument of `length` bytes that `body` appends in several parts, without a copy.
    public mutating func argument(length: Int, _ body: (inout [UInt8]) -> Void) {
        header(length)
        let start = bytes.count
        body(&bytes)
        precondition(bytes.count == start + length, "\(bytes.count - start) of \(length) bytes")
        endLine()
    }

    private mutating func header(_ length: Int) {
        precondition(missing > 0, "the command has all its arguments")
        missing -= 1
        bytes.append(RESPKind.bulkString.rawValue)
        bytes.append(decimal: length)
        endLine()
    }

    private mutating func endLine() {
        bytes.append(0x0D)
        bytes.append(0x0A)
    }
}
