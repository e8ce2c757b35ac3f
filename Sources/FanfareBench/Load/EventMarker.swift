/// The start of an event's data, which identifies the event and has the time at which it was due.
///
/// 32 bytes that need no escaping in JSON or in a user ID: `@-`, the run in six hexadecimal digits, the sequence number
/// in eight and the time in sixteen. That is four words, so that a scanner compares words and does not parse the same
/// marker twice.
struct EventMarker: Equatable {
    static let length = 32

    /// Identifies the run, as several may use the same channel; 24 bits.
    var run: UInt32
    /// The number of the event in its run, from 0.
    var sequence: UInt32
    /// When the event was due, in nanoseconds of the monotonic clock.
    var sentAt: Int64

    func append(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: Self.magic)
        Self.append(UInt64(run), digitCount: 6, to: &bytes)
        Self.append(UInt64(sequence), digitCount: 8, to: &bytes)
        Self.append(UInt64(bitPattern: sentAt), digitCount: 16, to: &bytes)
    }

    /// An event's data: the marker, and filler that needs no escaping in JSON up to a length of at least ``length``.
    func data(length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        append(to: &bytes)
        // About as compressible as real data.
        let words = Array("price of item twelve changed from eleven to thirteen at noon; ".utf8)
        while bytes.count < length { bytes.append(words[(bytes.count * 7 / 5) % words.count]) }
        return bytes
    }

    var text: String { String(decoding: data(length: Self.length), as: UTF8.self) }

    private static let magic = Array("@-".utf8)

    private static func append(_ number: UInt64, digitCount: Int, to bytes: inout [UInt8]) {
        for index in (0..<digitCount).reversed() {
            let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * index)) & 0x0F
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}

/// Finds the markers of one run in the messages of all subscribers.
///
/// All subscribers receive the same bytes. A marker nearly always starts at the offset of the last one, and is nearly
/// always one of the last sixteen: a lookup costs four comparisons of a word.
struct EventMarkerScanner {
    private let run: UInt32
    /// The first word of the run's markers.
    private let head: UInt64
    /// The offset of the last marker, in bytes from the start of the message.
    private var offset = 0
    /// The last marker for each value of the sequence number's last digit.
    private var recent: [16 of CachedMarker]

    /// A parsed marker, and the three words that follow its first.
    private struct CachedMarker {
        var words: (UInt64, UInt64, UInt64)
        var marker: EventMarker
    }

    init(run: UInt32) {
        self.run = run
        let marker = EventMarker(run: run, sequence: 0, sentAt: 0)
        let data = marker.data(length: EventMarker.length)
        let bytes = data.span.bytes
        head = Self.word(bytes, at: 0)
        recent = .init(repeating: CachedMarker(words: Self.words(bytes, at: 0), marker: marker))
    }

    /// Finds the marker in a message; nil if there is none of this run.
    mutating func find(in message: Span<UInt8>) -> EventMarker? {
        let bytes = message.bytes
        if offset + EventMarker.length <= bytes.byteCount, Self.word(bytes, at: offset) == head {
            return read(bytes, at: offset)
        }
        guard bytes.byteCount >= EventMarker.length else { return nil }
        for start in 0...bytes.byteCount - EventMarker.length
        where Self.word(bytes, at: start) == head {
            offset = start
            return read(bytes, at: start)
        }
        return nil
    }

    private mutating func read(_ bytes: RawSpan, at start: Int) -> EventMarker? {
        let words = Self.words(bytes, at: start)
        let place = Self.place(bytes, at: start)
        if recent[place].words == words { return recent[place].marker }
        guard let sequence = Self.number(bytes, start + 8..<start + 16),
            let sentAt = Self.number(bytes, start + 16..<start + 32)
        else { return nil }
        let marker = EventMarker(
            run: run,
            sequence: UInt32(truncatingIfNeeded: sequence),
            sentAt: Int64(bitPattern: sentAt)
        )
        recent[place] = CachedMarker(words: words, marker: marker)
        return marker
    }

    private static func words(_ bytes: RawSpan, at start: Int) -> (UInt64, UInt64, UInt64) {
        (word(bytes, at: start + 8), word(bytes, at: start + 16), word(bytes, at: start + 24))
    }

    /// The value of the sequence number's last digit; for anything else, some number below 16.
    private static func place(_ bytes: RawSpan, at start: Int) -> Int {
        // SAFETY: any byte is a UInt8, and the range is checked.
        let digit = bytes.unsafeLoad(fromByteOffset: start + 15, as: UInt8.self)
        return Int((digit & 0x0F) &+ (digit >> 6) &* 9) & 0x0F
    }

    private static func word(_ bytes: RawSpan, at offset: Int) -> UInt64 {
        // SAFETY: any eight bytes are a UInt64, and the range is checked.
        bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private static func number(_ bytes: RawSpan, _ range: Range<Int>) -> UInt64? {
        var number: UInt64 = 0
        for index in range {
            // SAFETY: any byte is a UInt8, and the range is checked.
            let digit = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - 0x57)
            default: return nil
            }
        }
        return number
    }
}
