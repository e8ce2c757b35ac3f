/// The checksum CRC-32C (Castagnoli; RFC 3720, appendix B.4).
///
/// It detects every error of up to three bits in a row of a file. It protects from faults of disks and memory, not from
/// forgery.
public struct CRC32C: Sendable {
    /// Eight tables of 256 entries: the checksum of a byte that 0 to 7 bytes follow.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for byte in UInt32(0)..<256 {
            var sum = byte
            for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : (sum >> 1) ^ 0x82F6_3B78 }
            tables.append(sum)
        }
        for index in 256..<2_048 {
            let former = tables[index - 256]
            tables.append((former >> 8) ^ tables[Int(former & 0xFF)])
        }
        return tables
    }()

    private var register: UInt32 = .max

    /// Creates the checksum of nothing.
    public init() {}

    /// The checksum of everything that was added.
    public var value: UInt32 { ~register }

    /// Adds bytes.
    public mutating func add(_ bytes: Span<UInt8>) {
        let tables = Self.tables
        tables.withUnsafeBufferPointer { tables in
            var index = 0
            while index &+ 8 <= bytes.count {
                var word: UInt64 = 0
                for place in 0..<8 { word |= UInt64(bytes[index &+ place]) << UInt64(place &* 8) }
                word ^= UInt64(register)
                register = 0
                for place in 0..<8 {
                    let byte = Int(truncatingIfNeeded: word >> UInt64(place &* 8)) & 0xFF
                    register ^= tables[(7 &- place) &* 256 &+ byte]
                }
                index &+= 8
            }
            while index < bytes.count {
                let place = (register ^ UInt32(bytes[index])) & 0xFF
                register = (register >> 8) ^ tables[Int(place)]
                index &+= 1
            }
        }
    }

    /// Adds the bytes of a number, the least significant first.
    public mutating func add(_ number: Int64) {
        for place in 0..<8 {
            let byte = UInt32(truncatingIfNeeded: number >> Int64(place * 8)) & 0xFF
            register = (register >> 8) ^ Self.tables[Int((register ^ byte) & 0xFF)]
        }
    }

    /// Adds bytes, preceded by their number, so that two fields cannot exchange bytes.
    public mutating func addField(_ bytes: Span<UInt8>) {
        add(Int64(bytes.count))
        add(bytes)
    }
}
