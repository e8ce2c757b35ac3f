import CommandSupport
import Net

/// What the server takes of its machine at one moment.
struct Footprint: Equatable, Sendable {
    /// The pages that it has in memory, in bytes (`VmRSS` of /proc/PID/status).
    var resident: Int
    /// How many descriptors it has open.
    var descriptors: Int
    /// Its memory with a page that several share divided among them (`Pss`), in bytes; nil where nobody has asked.
    var proportional: Int?

    /// The server's footprint now; nil if it may not be read: of another user, or gone.
    ///
    /// Cheap enough for once a second: unlike ``ServerProcess/memory()`` it makes the kernel walk no page table.
    init?(of server: ServerProcess) {
        var (resident, descriptors) = (0, 0)
        for id in server.ids {
            guard let text = ProcFile.text(at: "/proc/\(id)/status"),
                let bytes = ProcFile.byteCount(of: "VmRSS:", in: text),
                let open = ProcFile.numbers(in: "/proc/\(id)/fd")
            else { return nil }
            resident += bytes
            descriptors += open.count
        }
        self.init(resident: resident, descriptors: descriptors)
    }

    /// A footprint that is known.
    init(resident: Int, descriptors: Int, proportional: Int? = nil) {
        self.resident = resident
        self.descriptors = descriptors
        self.proportional = proportional
    }

    /// Resident memory of the server's processes in bytes, now or, for the line `VmHWM:`, at its greatest; nil if it
    /// may not be read.
    static func resident(of server: ServerProcess, line: String = "VmRSS:") -> Int? {
        var sum = 0
        for id in server.ids {
            guard let text = ProcFile.text(at: "/proc/\(id)/status"),
                let bytes = ProcFile.byteCount(of: line, in: text)
            else { return nil }
            sum += bytes
        }
        return sum
    }

    /// The kernel's memory for all TCP connections of this machine, in bytes; nil if it cannot be read.
    static func kernelTCP() -> Int? {
        ProcFile.text(at: "/proc/net/sockstat").flatMap(kernelTCP(in:))
    }

    /// The pages of the line `TCP:` in the text of `/proc/net/sockstat`, in bytes.
    static func kernelTCP(in text: String) -> Int? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("TCP:") }
        let words = line?.split(separator: " ") ?? []
        guard let place = words.firstIndex(of: "mem"), place + 1 < words.count else { return nil }
        return Int(words[place + 1]).map { $0 * 4_096 }
    }
}

/// The server's footprint over a run.
struct FootprintHistory {
    /// What it was each time.
    private(set) var samples: [Footprint] = []
    /// The most of ``Footprint/kernelTCP()``, in bytes.
    private(set) var kernelPeak = 0
    private let server: ServerProcess
    private var sampledAt: MonotonicTime?

    /// Nothing looked at yet.
    init(of server: ServerProcess) { self.server = server }

    /// Looks, unless less time has passed since the last look.
    mutating func sample(at now: MonotonicTime, every interval: Duration = .seconds(1)) {
        if let sampledAt, sampledAt.duration(to: now) < interval { return }
        sampledAt = now
        if let footprint = Footprint(of: server) { samples.append(footprint) }
        kernelPeak = max(kernelPeak, Footprint.kernelTCP() ?? 0)
    }

    /// The last one.
    var last: Footprint? { samples.last }

    /// The most memory that was resident, in bytes.
    var residentPeak: Int { samples.map(\.resident).max() ?? 0 }

    /// What it was at most, beside what it was before.
    ///
    /// - Parameters:
    ///   - before: The server's resident memory before the log began, in bytes.
    ///   - growthMax: By how many bytes it may grow.
    /// - Returns: The rows.
    func rows(since before: Int, growthMax: Int) -> [BenchReport.Row] {
        [
            .init(
                label: "server memory",
                text: """
                    \(mebibytes(before)) alone, at most \(mebibytes(residentPeak)); \
                    \(mebibytes(growthMax)) more is allowed
                    """,
                members: [
                    ("resident_before_bytes", .integer(before)),
                    ("resident_peak_bytes", .integer(residentPeak)),
                    ("resident_over_time_bytes", .integers(residentOverTime())),
                ]
            ),
            .init(
                label: "the kernel's for TCP",
                text: "at most \(mebibytes(kernelPeak)), of all connections of this machine",
                members: [("kernel_tcp_peak_bytes", .integer(kernelPeak))]
            ),
        ]
    }

    /// The resident memory over time, in bytes, at most so many values at equal distances.
    func residentOverTime(atMost count: Int = 120) -> [Int] {
        let stride = max(1, (samples.count + count - 1) / count)
        return Swift.stride(from: 0, to: samples.count, by: stride).map { samples[$0].resident }
    }
}

/// A number of bytes in mebibytes, for people.
func mebibytes(_ bytes: Int) -> String { "\(decimal(Double(bytes) / 1_048_576, places: 1)) MiB" }
