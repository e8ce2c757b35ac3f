/// What happens in a run, as lines; and a number that is the same only for the same lines.
package struct Trace {
    private let write: ((String) -> Void)?
    private let isHashed: Bool
    /// Of all lines so far (FNV-1a).
    package private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Makes a trace without lines.
    ///
    /// - Parameters:
    ///   - isHashed: Whether the lines are of account although nobody reads them.
    ///   - write: Takes each line; `nil` if nobody reads them.
    package init(isHashed: Bool = false, write: ((String) -> Void)? = nil) {
        self.isHashed = isHashed || write != nil
        self.write = write
    }

    /// Adds a line, which is made only if somebody wants it.
    mutating func note(_ line: () -> String) {
        guard isHashed else { return }
        let line = line()
        for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        write?(line)
    }
}
