import CommandSupport
import Net

/// The server's memory and descriptors at one moment.
struct Footprint: Equatable, Sendable {
    /// Resident memory in bytes (`VmRSS` of /proc/PID/status).
    var resident: Int
    var descriptors: Int
    /// Memory in bytes, with shared pages divided among their processes (`Pss`); nil if not measured.
    var proportional: Int?

    init(resident: Int, descriptors: Int) {
        self.resident = resident
        self.descriptors = descriptors
    }

    /// Measures the server; nil if that is not permitted, or the server has ended.
    ///
    /// Cheap enough to do each second: unlike for ``ServerProcess/memory()``, the kernel walks no page tables.
    init?(of server: ServerProcess, countsDescriptors: Bool = true) {
        guard let resident = server.sum(of: "VmRSS:", in: "status") else { return nil }
        self.init(resident: resident, descriptors: 0)
        for id in countsDescriptors ? server.ids : [] {
            guard let open = ProcFile.numbers(in: "/proc/\(id)/fd") else { return nil }
            descriptors += open.count
        }
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

/// The memory of the server, and of the kernel's TCP, from a moment on.
struct MemoryHistory {
    private(set) var last: Footprint
    /// The server's resident memory at the first sample, in bytes.
    let residentBefore: Int
    private let server: ServerProcess
    private let interval: Duration
    private let countsDescriptors: Bool
    /// The peak of the server's resident memory before the first sample.
    private let earlierPeak: Int
    private var residents: [Int]
    /// The peak of ``Footprint/kernelTCP()``, in bytes.
    private var kernelPeak = 0
    private var sampledAt: MonotonicTime?

    /// Takes the first sample; nil if the server is not known or cannot be measured.
    init?(
        of server: ServerProcess?,
        every interval: Duration = .seconds(1),
        countsDescriptors: Bool = false
    ) {
        guard let server, let peak = server.sum(of: "VmHWM:", in: "status"),
            let first = Footprint(of: server, countsDescriptors: countsDescriptors)
        else { return nil }
        self.server = server
        self.interval = interval
        self.countsDescriptors = countsDescriptors
        earlierPeak = peak
        last = first
        residentBefore = first.resident
        residents = [first.resident]
    }

    /// Takes a sample, unless the last one is more recent than the interval.
    mutating func sample(at now: MonotonicTime, every interval: Duration? = nil) {
        if let sampledAt, sampledAt.duration(to: now) < interval ?? self.interval { return }
        sampledAt = now
        if let footprint = Footprint(of: server, countsDescriptors: countsDescriptors) {
            last = footprint
            residents.append(footprint.resident)
        }
        kernelPeak = max(kernelPeak, Footprint.kernelTCP() ?? 0)
    }

    /// The peak of the server's resident memory since the first sample, in bytes.
    ///
    /// This is the kernel's high-water mark if it has risen: it includes peaks between two samples.
    var residentPeak: Int {
        let peak = server.sum(of: "VmHWM:", in: "status") ?? 0
        return peak > earlierPeak ? peak : residents.max() ?? 0
    }

    var growth: Int { residentPeak - residentBefore }

    /// Resident memory over time in bytes: at most 120 samples, at equal intervals.
    var residentOverTime: BenchReport.Member {
        let stride = max(1, (residents.count + 119) / 120)
        let samples = Swift.stride(from: 0, to: residents.count, by: stride).map { residents[$0] }
        return ("resident_over_time_bytes", .integers(samples))
    }

    /// The rows of a report, with the allowed growth in bytes; nil for no limit.
    @RowBuilder func rows(growthMax: Int?) -> [Row] {
        let allowed = growthMax.map { "; \(mebibytes($0)) more is allowed" } ?? ""
        let peak = residentPeak
        Row.row(
            "server memory",
            "\(mebibytes(residentBefore)) before, at most \(mebibytes(peak))\(allowed)",
            ("resident_before_bytes", .integer(residentBefore)),
            ("resident_peak_bytes", .integer(peak)),
            ("resident_growth_bytes", .integer(growth)),
            residentOverTime
        )
        Row.row(
            "kernel memory for TCP",
            "at most \(mebibytes(kernelPeak)), of all connections of this machine",
            ("kernel_tcp_peak_bytes", .integer(kernelPeak))
        )
    }
}

/// The fault of a growth of memory beyond the allowed one, in bytes; nil stands for an unknown growth, or no limit.
func excess(of growth: Int?, over allowed: Int?, _ memory: String) -> String? {
    guard let growth, let allowed, growth > allowed else { return nil }
    return "\(memory) grew by \(mebibytes(growth)); \(mebibytes(allowed)) is allowed"
}

func mebibytes(_ bytes: Int) -> String { "\(decimal(Double(bytes) / 1_048_576, places: 1)) MiB" }
