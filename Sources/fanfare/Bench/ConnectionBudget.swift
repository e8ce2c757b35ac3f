import Net

/// How many connections this process and this machine allow.
enum ConnectionBudget {
    /// Descriptors that are not the benchmark's devices: the publisher, the loop's own, standard streams.
    static let spareDescriptors = 64

    /// Raises the soft limit of descriptors, and checks that so many connections to one address can be.
    ///
    /// - Parameters:
    ///   - count: How many connections are open at once.
    ///   - option: The option that says so.
    /// - Throws: `.descriptorLimit` or `.portRange`.
    static func check(_ count: Int, option: String) throws(BenchError) {
        let needed = count + spareDescriptors
        let allowed = Int(clamping: DescriptorLimit.raise())
        guard needed <= allowed else {
            throw .descriptorLimit(needed: needed, allowed: allowed, option: option)
        }
        let range = ProcFile.text(at: "/proc/sys/net/ipv4/ip_local_port_range")
        guard let ports = range.flatMap(portCount), ports < count else { return }
        throw .portRange(connections: count, ports: ports)
    }

    /// Counts the ports of a range as the kernel writes it, `32768\t60999`.
    static func portCount(_ text: String) -> Int? {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
        return numbers[1] - numbers[0] + 1
    }
}
