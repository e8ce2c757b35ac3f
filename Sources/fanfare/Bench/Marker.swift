/// What the data of a benchmark's event begins with: which event it is, and when it was sent.
///
/// 32 bytes that mean themselves in JSON and in a user id: `@-`, six hexadecimal digits of the run, eight of the
/// sequence number and sixteen of the time. Four words, so that a reader compares and never parses
/// the same event twice.
struct Marker: Equatable {
    /// Its length, in bytes.
    static let length = 32

    /// Tells the events of this run from those of another on the same channel; 24 bits.
    var run: UInt32
    /// Counts the run's events from zero.
    var sequence: UInt32
    /// When the event was due, in nanoseconds of the monotonic clock.
    var sentAt: Int64

    /// Appends the marker as it stands in the data.
    func append(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: Self.magic)
        Self.append(UInt64(run), digitCount: 6, to: &bytes)
        Self.append(UInt64(sequence), digitCount: 8, to: &bytes)
        Self.append(UInt64(bitPattern: sentAt), digitCount: 16, to: &bytes)
    }

    /// The data of an event: the marker, and filling up to a length.
    ///
    /// - Parameter length: In bytes, at least ``length``.
    /// - Returns: Bytes that mean themselves in a JSON string.
    func data(length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        append(to: &bytes)
        // Neither all the same nor random: about as compressible as what people send.
        let words = Array("price of item twelve changed from eleven to thirteen at noon; ".utf8)
        while bytes.count < length { bytes.append(words[(bytes.count * 7 / 5) % words.count]) }
        return bytes
    }

    private static let magic = Array("@-".utf8)

    private static func append(_ number: UInt64, digitCount: Int, to bytes: inout [UInt8]) {
        for index in (0..<digitCount).reversed() {
            let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * index)) & 0x0F
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}
