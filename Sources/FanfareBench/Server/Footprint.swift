import CommandSupport
import Net

/// The server's memory and descriptors at one moment.
struct Footprint: Equatable, Sendable {
    /// Resident memory in bytes (`VmRSS` of /proc/PID/status).
    var resident: Int
    /// The number of open descriptors.
    var descriptors: Int
    /// Memory in bytes, with shared pages divided among their processes (`Pss`); nil if not measured.
    var proportional: Int?

    /// Measures the server; nil if that is not permitted, or the server has ended.
    ///
    /// Cheap enough to do each second: unlike for ``ServerProcess/memory()``, the kernel walks no page tables.
    init?(of server: ServerProcess) {
        guard let resident = Self.resident(of: server) else { return nil }
        var descriptors = 0
        for id in server.ids {
            guard let open = ProcFile.numbers(in: "/proc/\(id)/fd") else { return nil }
            descriptors += open.count
        }
        self.init(resident: resident, descriptors: descriptors)
    }

    /// Creates a footprint from known values.
    init(resident: Int, descriptors: Int, proportional: Int? = nil) {
        self.resident = resident
        self.descriptors = descriptors
        self.proportional = proportional
    }

    /// The resident memory of the server's processes in bytes: `VmRSS:` is the current one, `VmHWM:` the peak; nil if
    /// it cannot be read.
    static func resident(of server: ServerProcess, line: String = "VmRSS:") -> Int? {
        server.sum(of: line, in: "status")
    }

    /// The kernel's memory for all TCP connections of this machine in bytes; nil if it cannot be read.
    static func kernelTCP() -> Int? {
        ProcFile.text(at: "/proc/net/sockstat").flatMap(kernelTCP(in:))
    }

    /// The value of `mem` in the line `TCP:` of `/proc/net/sockstat`, which is in pages, in bytes.
    static func kernelTCP(in text: String) -> Int? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("TCP:") }
        let words = line?.split(separator: " ") ?? []
        guard let place = words.firstIndex(of: "mem"), place + 1 < words.count else { return nil }
        return Int(words[place + 1]).map { $0 * 4_096 }
    }
}

/// The server's footprint over a run.
struct FootprintHistory {
    /// The samples, in order.
    private(set) var samples: [Footprint] = []
    /// The peak of ``Footprint/kernelTCP()``, in bytes.
    private(set) var kernelPeak = 0
    private let server: ServerProcess
    private var sampledAt: MonotonicTime?

    /// Creates a history without samples.
    init(of server: ServerProcess) { self.server = server }

    /// Takes a sample, unless the last one is more recent than the interval.
    mutating func sample(at now: MonotonicTime, every interval: Duration = .seconds(1)) {
        if let sampledAt, sampledAt.duration(to: now) < interval { return }
        sampledAt = now
        if let footprint = Footprint(of: server) { samples.append(footprint) }
        kernelPeak = max(kernelPeak, Footprint.kernelTCP() ?? 0)
    }

    /// The last sample.
    var last: Footprint? { samples.last }

    /// The peak of resident memory in bytes.
    var residentPeak: Int { samples.map(\.resident).max() ?? 0 }

    /// The rows of peak and initial memory, with the allowed growth in bytes.
    @RowBuilder func rows(since before: Int, growthMax: Int) -> [Row] {
        Row.row(
            "server memory",
            """
            \(mebibytes(before)) alone, at most \(mebibytes(residentPeak)); \
            \(mebibytes(growthMax)) more is allowed
            """,
            ("resident_before_bytes", .integer(before)),
            ("resident_peak_bytes", .integer(residentPeak)),
            ("resident_over_time_bytes", .integers(residentOverTime()))
        )
        Row.kernelMemory(kernelPeak)
    }

    /// Resident memory over time in bytes: at most this many samples, at equal intervals.
    func residentOverTime(atMost count: Int = 120) -> [Int] {
        let stride = max(1, (samples.count + count - 1) / count)
        return Swift.stride(from: 0, to: samples.count, by: stride).map { samples[$0].resident }
    }
}

/// A number of bytes in MiB, as text.
func mebibytes(_ bytes: Int) -> String { "\(decimal(Double(bytes) / 1_048_576, places: 1)) MiB" }

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
    @RowBuilder func rows(growthMax: Int?) -> [Row] {
        let allowed = growthMax.map { "; \(mebibytes($0)) more is allowed" } ?? ""
        Row.row(
            "server memory",
            "\(mebibytes(residentBefore)) before, at most \(mebibytes(residentPeak))\(allowed)",
            ("resident_before_bytes", .integer(residentBefore)),
            ("resident_peak_bytes", .integer(residentPeak)),
            ("resident_growth_bytes", .integer(growth))
        )
        Row.kernelMemory(kernelPeak)
    }
}

extension Row {
    /// The peak of the kernel's memory for TCP, in bytes.
    fileprivate static func kernelMemory(_ peak: Int) -> Self {
        .row(
            "kernel memory for TCP",
            "at most \(mebibytes(peak)), of all connections of this machine",
            ("kernel_tcp_peak_bytes", .integer(peak))
        )
    }
}
