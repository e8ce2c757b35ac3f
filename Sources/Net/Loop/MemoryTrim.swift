import CLinux

/// Returns memory to the system after a peak of a reactor's buffers.
///
/// glibc keeps freed memory in its arenas. By itself it returns only what lies at an arena's end, so one small later
/// buffer keeps all memory before it. The call malloc_trim(3) returns every free page of all arenas. It takes some
/// milliseconds per hundred MiB, during which allocations wait. Call ``look(at:)`` from a timer that fires every few
/// seconds. It trims only if the peak has been over for a whole interval. A load that rises and falls all the time
/// never counts as over, because it needs its memory again.
public struct MemoryTrim {
    /// The fewest freed bytes that justify a trim.
    static var freedCountMin: Int { 16 << 20 }

    /// The peak since memory was last returned, in bytes.
    private var highest = 0

    /// Lets the allocator of this process merge small freed blocks with their neighbours at once.
    ///
    /// By default glibc keeps them apart ("fastbins", `M_MXFAST` of mallopt(3)) until a large block is freed, and then
    /// merges all of them in one call. That call takes 40 ms after 100,000 channels have changed. The blocks that each
    /// thread keeps for its next allocations remain.
    public static func mergeFreedBlocksAtOnce() { mallopt(M_MXFAST, 0) }

    /// Makes a trim without a peak.
    public init() {}

    /// Trims if the peak of the reactor's inbound and queued bytes since the last call is much lower than the one
    /// before.
    public mutating func look(at reactor: Reactor) {
        if isOver(peak: max(reactor.inbound.takePeak(), reactor.queueBudget.byteCount)) {
            _ = malloc_trim(0)
        }
    }

    /// Compares the peak since the last call, in bytes, with the one before, and returns whether a peak is over; true
    /// once per peak.
    mutating func isOver(peak: Int) -> Bool {
        guard highest - peak >= Self.freedCountMin else {
            highest = max(highest, peak)
            return false
        }
        highest = peak
        return true
    }
}
