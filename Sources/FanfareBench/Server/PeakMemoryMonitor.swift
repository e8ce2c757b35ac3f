import Net

/// The most memory that the server and the kernel's TCP take while a load lasts.
struct PeakMemoryMonitor {
    /// The server's resident memory when the watch began, in bytes.
    let residentBefore: Int
    /// The most that was seen of ``Footprint/kernelTCP()``, in bytes.
    private(set) var kernelPeak = 0
    private let server: ServerProcess
    /// The server's greatest resident memory until the watch began.
    private let earlierPeak: Int
    private var seenPeak: Int
    private var sampledAt: MonotonicTime?

    /// Begins now; nil if the server's memory may not be read.
    init?(of server: ServerProcess) {
        guard let resident = Footprint.resident(of: server),
            let peak = Footprint.resident(of: server, line: "VmHWM:")
        else { return nil }
        self.server = server
        residentBefore = resident
        earlierPeak = peak
        seenPeak = resident
    }

    /// Looks, unless less than a tenth of a second has passed since the last look.
    mutating func sample(at now: MonotonicTime) {
        if let sampledAt, sampledAt.duration(to: now) < BenchStep.tick { return }
        sampledAt = now
        if let resident = Footprint.resident(of: server) { seenPeak = max(seenPeak, resident) }
        kernelPeak = max(kernelPeak, Footprint.kernelTCP() ?? 0)
    }

    /// The server's greatest resident memory since then, in bytes.
    ///
    /// The kernel's own high-water mark, where it has risen: between two looks memory may come and go.
    var residentPeak: Int {
        let peak = Footprint.resident(of: server, line: "VmHWM:") ?? 0
        return peak > earlierPeak ? peak : seenPeak
    }

    /// By how many bytes it has grown at most.
    var growth: Int { residentPeak - residentBefore }

    /// The rows of a report, where memory may grow by so many bytes; nil for no limit.
    func rows(growthMax: Int?) -> [BenchReport.Row] {
        let allowed = growthMax.map { "; \(mebibytes($0)) more is allowed" } ?? ""
        return [
            .init(
                label: "server memory",
                text: """
                    \(mebibytes(residentBefore)) before, at most \(mebibytes(residentPeak))\
                    \(allowed)
                    """,
                members: [
                    ("resident_before_bytes", .integer(residentBefore)),
                    ("resident_peak_bytes", .integer(residentPeak)),
                    ("resident_growth_bytes", .integer(growth)),
                ]
            ),
            .init(
                label: "the kernel's for TCP",
                text: "at most \(mebibytes(kernelPeak)), of all connections of this machine",
                members: [("kernel_tcp_peak_bytes", .integer(kernelPeak))]
            ),
        ]
    }
}
