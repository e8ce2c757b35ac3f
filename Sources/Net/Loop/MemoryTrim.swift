import CLinux

/// Returns memory to the system after a peak of what a reactor held for its peers.
///
/// glibc keeps freed memory in its arenas, and gives back by itself only what lies at an arena's end: one small buffer
/// that came later holds all before it. malloc_trim(3) gives back every free page, of all arenas. While it does, which
/// takes some milliseconds for each hundred MiB, whoever allocates waits: so ``look(at:)`` belongs into a timer that
/// fires every few seconds, and trims only when the peak has been over for as long as from one look to the next. A load
/// that goes up and down all the time is never over, and needs its memory again.
public struct MemoryTrim {
    /// What must have been freed, in bytes: less is not worth the time.
    static var freedCountMin: Int { 16 << 20 }

    /// The most bytes that were held since memory was last returned.
    private var highest = 0

    /// Begins before any peak.
    public init() {}

    /// Returns memory if little was held since the last look, compared with before.
    ///
    /// - Parameter reactor: Whose memory for what has come in, and for what waits for slow readers, is compared.
    public mutating func look(at reactor: Reactor) {
        if isOver(peak: max(reactor.inbound.takePeak(), reactor.queueAccount.byteCount)) {
            _ = malloc_trim(0)
        }
    }

    /// Compares what was held since the last call with what was held before.
    ///
    /// - Parameter peak: The most bytes that were held since the last call.
    /// - Returns: Whether a peak is over, once.
    mutating func isOver(peak: Int) -> Bool {
        guard highest - peak >= Self.freedCountMin else {
            highest = max(highest, peak)
            return false
        }
        highest = peak
        return true
    }
}
