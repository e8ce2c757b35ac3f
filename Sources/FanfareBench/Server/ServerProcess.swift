import CommandSupport
import Glibc

/// The server's processes.
struct ServerProcess: Equatable, Sendable {
    /// The process IDs in ascending order; several if they share the listening socket.
    let ids: [Int32]

    /// The process with an ID; nil if its CPU time cannot be read.
    init?(id: Int32) {
        ids = [id]
        guard cpuTime() != nil else { return nil }
    }

    /// The processes of this machine that listen on a port; nil if there is none, or it belongs to another user.
    init?(listeningOn port: UInt16) {
        let inodes = ["/proc/net/tcp", "/proc/net/tcp6"].reduce(into: Set<String>()) {
            $0.formUnion(Self.listeners(in: ProcFile.text(at: $1) ?? "", port: port))
        }
        guard !inodes.isEmpty else { return nil }
        ids = (ProcFile.numbers(in: "/proc") ?? []).filter { id in
            (ProcFile.numbers(in: "/proc/\(id)/fd") ?? []).contains { descriptor in
                ProcFile.link(at: "/proc/\(id)/fd/\(descriptor)")
                    .flatMap(Self.inode(ofLink:)).map(inodes.contains) ?? false
            }
        }.sorted()
        guard !ids.isEmpty, cpuTime() != nil else { return nil }
    }

    /// The CPU time in nanoseconds, in user mode and in the kernel, including threads that have ended.
    ///
    /// - Returns: nil if a process has ended or its clock cannot be read (clock_getcpuclockid(3)).
    func cpuTime() -> Int64? {
        var sum: Int64 = 0
        for id in ids {
            var clock = clockid_t()
            var time = timespec()
            // An ID beyond Linux's range would select another kind of clock.
            guard access("/proc/\(id)", F_OK) == 0, clock_getcpuclockid(id, &clock) == 0,
                clock_gettime(clock, &time) == 0
            else { return nil }
            sum += time.nanoseconds
        }
        return sum
    }

    /// The memory in bytes, with shared pages divided among their processes (`Pss`).
    ///
    /// - Returns: nil if that is not permitted, or a process has ended.
    func memory() -> Int? {
        sum(of: "Pss:", in: "smaps_rollup")
    }

    /// The sum over all processes of a line of a file in `/proc/PID`, in bytes; nil if one cannot be read.
    func sum(of line: String, in file: String) -> Int? {
        var sum = 0
        for id in ids {
            guard let text = ProcFile.text(at: "/proc/\(id)/\(file)"),
                let bytes = ProcFile.byteCount(of: line, in: text)
            else { return nil }
            sum += bytes
        }
        return sum
    }

    /// The lowest of the processes' descriptor limits; nil if unknown or unlimited.
    var descriptorLimit: Int? {
        ids.compactMap { id in
            ProcFile.text(at: "/proc/\(id)/limits").flatMap(Self.descriptorLimit(in:))
        }.min()
    }

    static func ownCPUTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.nanoseconds
    }

    /// The inodes of the sockets that listen on a port, in the text of `/proc/net/tcp` or `tcp6`.
    static func listeners(in text: String, port: UInt16) -> Set<String> {
        var inodes: Set<String> = []
        // Bytes, not characters: the table may have tens of thousands of connections.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
            // sl, local_address, rem_address, st: 0A is TCP_LISTEN.
            guard fields.count > 9, fields[3].elementsEqual("0A".utf8),
                let hexadecimal = fields[1].split(separator: UInt8(ascii: ":")).last,
                UInt16(Substring(hexadecimal), radix: 16) == port
            else { continue }
            inodes.insert(String(Substring(fields[9])))
        }
        return inodes
    }

    /// The inode in a descriptor's link, `socket:[4711]`; nil if it is not a socket.
    static func inode(ofLink link: String) -> String? {
        guard link.hasPrefix("socket:["), link.hasSuffix("]") else { return nil }
        return String(link.dropFirst(8).dropLast())
    }

    /// The soft limit of `Max open files` in the text of `/proc/PID/limits`.
    static func descriptorLimit(in text: String) -> Int? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        return line?.dropFirst("Max open files".count).split(separator: " ").first
            .flatMap { Int($0) }
    }
}

extension timespec {
    fileprivate var nanoseconds: Int64 { Int64(tv_sec) * 1_000_000_000 + Int64(tv_nsec) }
}
