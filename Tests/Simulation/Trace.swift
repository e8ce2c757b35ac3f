/// The trace of a run as lines, with a hash of them.
package struct Trace {
    private let write: ((String) -> Void)?
    private let isHashed: Bool
    /// The hash of all lines so far (FNV-1a).
    package private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Creates an empty trace.
    ///
    /// - Parameters:
    ///   - isHashed: Whether to hash the lines even if they are not written.
    ///   - write: Called with each line; `nil` if they are not needed.
    package init(isHashed: Bool = false, write: ((String) -> Void)? = nil) {
        self.isHashed = isHashed || write != nil
        self.write = write
    }

    /// Adds a line, which is created only if needed.
    mutating func record(_ line: () -> String) {
        guard isHashed else { return }
        let line = line()
        for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        write?(line)
    }
}
