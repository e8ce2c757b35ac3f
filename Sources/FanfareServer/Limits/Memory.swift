import Glibc

/// The memory that the process may use.
enum Memory {
    /// The machine's memory in bytes, or the lowest limit of the process's control groups (cgroups(7)).
    static var available: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let machine = pages > 0 ? pages * sysconf(Int32(_SC_PAGESIZE)) : 1 << 30
        return groupLimits.reduce(machine, min)
    }

    private static var groupLimits: [Int] {
        var files = ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        // The line of version 2 is 0::/the/path; each group also limits those within it.
        if let line = lines(of: "/proc/self/cgroup").first(where: { $0.hasPrefix("0::/") }) {
            var path = line.dropFirst(3)
            while true {
                files.append("/sys/fs/cgroup\(path)/memory.max")
                guard let slash = path.lastIndex(of: "/") else { break }
                path = path[..<slash]
            }
        }
        return files.compactMap { lines(of: $0).first.flatMap { Int($0) } }
    }

    private static func lines(of path: String) -> [Substring] {
        guard let bytes = try? FileBytes.read(path) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
