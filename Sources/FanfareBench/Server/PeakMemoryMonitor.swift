import Net

/// The peak memory of the server and of the kernel's TCP during a load.
struct PeakMemoryMonitor {
    /// The server's resident memory at the start, in bytes.
    let residentBefore: Int
    /// The peak of ``Footprint/kernelTCP()``, in bytes.
    private(set) var kernelPeak = 0
    private let server: ServerProcess
    /// The peak of the server's resident memory before the start.
    private let earlierPeak: Int
    private var seenPeak: Int
    private var sampledAt: MonotonicTime?

    /// Starts monitoring; nil if the server's memory cannot be read.
    init?(of server: ServerProcess) {
        guard let resident = Footprint.resident(of: server),
            let peak = Footprint.resident(of: server, line: "VmHWM:")
        else { return nil }
        self.server = server
        residentBefore = resident
        earlierPeak = peak
        seenPeak = resident
    }

    /// Takes a sample, unless the last one was less than 100 ms ago.
    mutating func sample(at now: MonotonicTime) {
        if let sampledAt, sampledAt.duration(to: now) < BenchStep.tick { return }
        sampledAt = now
        if let resident = Footprint.resident(of: server) { seenPeak = max(seenPeak, resident) }
        kernelPeak = max(kernelPeak, Footprint.kernelTCP() ?? 0)
    }

    /// The peak of the server's resident memory since the start, in bytes.
    ///
    /// This is the kernel's high-water mark if it has risen: it includes peaks between two samples.
    var residentPeak: Int {
        let peak = Footprint.resident(of: server, line: "VmHWM:") ?? 0
        return peak > earlierPeak ? peak : seenPeak
    }

    /// The growth to the peak, in bytes.
    var growth: Int { residentPeak - residentBefore }

    /// The rows of a report, with the allowed growth in bytes; nil for no limit.
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
                label: "kernel memory for TCP",
                text: "at most \(mebibytes(kernelPeak)), of all connections of this machine",
                members: [("kernel_tcp_peak_bytes", .integer(kernelPeak))]
            ),
        ]
    }
}
