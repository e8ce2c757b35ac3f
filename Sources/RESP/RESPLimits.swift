/// The limits of one received value, including nested ones.
public struct RESPLimits: Hashable, Sendable {
    /// The maximum number of bytes of a simple string, a simple error or a big number.
    public var lineLengthMax: Int
    /// The maximum number of bytes of a string with a length.
    public var bulkLengthMax: Int
    /// The maximum number of elements in all aggregates; a pair of a map counts as two.
    public var elementCountMax: Int
    /// The maximum nesting of aggregates.
    public var depthMax: Int
    /// The maximum number of bytes in total.
    public var valueLengthMax: Int

    /// Makes limits.
    ///
    /// - Parameters:
    ///   - lineLengthMax: In bytes; Redis's errors have a few hundred.
    ///   - bulkLengthMax: In bytes; Redis allows 512 MiB (`proto-max-bulk-len`).
    ///   - elementCountMax: Each takes 16 bytes until the value is processed.
    ///   - depthMax: Redis's own replies have up to five levels.
    ///   - valueLengthMax: In bytes; clamped to 4 GiB.
    public init(
        lineLengthMax: Int = 64 << 10,
        bulkLengthMax: Int = 16 << 20,
        elementCountMax: Int = 1 << 20,
        depthMax: Int = 8,
        valueLengthMax: Int = 64 << 20
    ) {
        self.lineLengthMax = lineLengthMax
        self.bulkLengthMax = bulkLengthMax
        self.elementCountMax = elementCountMax
        self.depthMax = depthMax
        self.valueLengthMax = min(valueLengthMax, Int(UInt32.max))
    }
}
