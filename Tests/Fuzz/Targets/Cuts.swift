import TestRandom

/// The fragmentations of a stream: byte by byte, and in pieces that the input determines.
///
/// A short stream is cut once at each position, a long one at a few. One input always gives the same fragmentations.
struct Cuts: Sequence {
    private let stream: [UInt8]

    init(of stream: [UInt8]) { self.stream = stream }

    /// All fragmentations but the whole stream.
    func makeIterator() -> some IteratorProtocol<[[UInt8]]> {
        var random = SeededRandom(seed: UInt64(fingerprint: stream))
        let count = stream.count
        var ways = [stream.map { [$0] }]
        let places =
            count <= 48
            ? Array(0...count) : (0..<6).map { _ in Int.random(in: 0...count, using: &random) }
        ways += places.map { [Array(stream[..<$0]), Array(stream[$0...])] }
        var pieces: [[UInt8]] = []
        var start = 0
        while start < count {
            let end = Swift.min(count, start + Int.random(in: 1...24, using: &random))
            pieces.append(Array(stream[start..<end]))
            start = end
        }
        ways.append(pieces)
        return ways.makeIterator()
    }
}

extension UInt64 {
    /// Creates a number from bytes (FNV-1a).
    init(fingerprint bytes: [UInt8]) {
        self = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
