import TestRandom

@testable import WebSocket

/// Returns bytes from hexadecimal digits and 'text', like `"81 05 'Hello'"`.
func bytes(_ literal: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, part) in literal.split(separator: "'", omittingEmptySubsequences: false)
        .enumerated()
    {
        if index % 2 == 1 {
            bytes += Array(part.utf8)
        } else {
            let digits = part.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
            precondition(digits.count % 2 == 0, "odd number of digits in \(literal)")
            bytes += stride(from: 0, to: digits.count, by: 2).map {
                UInt8(digits[$0] << 4 | digits[$0 + 1])
            }
        }
    }
    return bytes
}

/// Returns the same frames as a client would send them: the naive twin of masking, byte by byte.
///
/// Errors in the frames are kept.
func masked(_ frames: [UInt8], key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]) -> [UInt8] {
    var rest = frames[...]
    var result: [UInt8] = []
    while let first = rest.popFirst() {
        result.append(first)
        guard let second = rest.popFirst() else { break }
        result.append(second | 0x80)
        let short = Int(second & 0x7F)
        let extended = Array(rest.prefix(short == 127 ? 8 : short == 126 ? 2 : 0))
        result += extended
        rest = rest.dropFirst(extended.count)
        let length = short < 126 ? UInt64(short) : extended.reduce(0) { $0 << 8 | UInt64($1) }
        let payload = rest.prefix(Int(clamping: length))
        result += key
        result += payload.enumerated().map { $1 ^ key[$0 % 4] }
        rest = rest.dropFirst(payload.count)
    }
    return result
}

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}
