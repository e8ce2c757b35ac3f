import Glibc

/// How many connections this process and this machine allow.
enum DescriptorLimit {
    /// Raises the soft limit of open descriptors to the hard one.
    ///
    /// - Returns: How many descriptors this process may have now.
    static func raise() -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Checks that so many subscribers can connect to one address.
    ///
    /// - Throws: `.descriptorLimit` or `.portRange`.
    static func check(subscribers: Int) throws(BenchError) {
        let needed = subscribers + BenchError.spare
        let allowed = raise()
        guard needed <= allowed else {
            throw .descriptorLimit(subscribers: subscribers, needed: needed, hardLimit: allowed)
        }
        let range = ProcFile.text(at: "/proc/sys/net/ipv4/ip_local_port_range")
        guard let ports = range.flatMap(portCount), ports < subscribers else { return }
        throw .portRange(subscribers: subscribers, ports: ports)
    }

    /// Counts the ports of a range as the kernel writes it, `32768\t60999`.
    static func portCount(_ text: String) -> Int? {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
        return numbers[1] - numbers[0] + 1
    }
}
