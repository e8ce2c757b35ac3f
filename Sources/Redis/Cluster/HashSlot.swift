/// The slots of a Redis Cluster (Redis Cluster specification, "Key distribution model").
enum HashSlot {
    /// The number of slots.
    static var count: Int { 16_384 }

    /// Returns the slot of a hash tag, or of a key without one.
    static func slot(of tag: some Sequence<UInt8>) -> Int { Int(checksum(tag)) % count }

    /// CRC-16/XMODEM: polynomial 0x1021, initial value 0.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var checksum: UInt16 = 0
        for byte in bytes {
            checksum ^= UInt16(byte) << 8
            for _ in 0..<8 {
                checksum = checksum & 0x8000 == 0 ? checksum << 1 : checksum << 1 ^ 0x1021
            }
        }
        return checksum
    }
}
