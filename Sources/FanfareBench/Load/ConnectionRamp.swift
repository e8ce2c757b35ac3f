import CommandSupport
import Net

/// Limits and counts the connections while a benchmark opens them.
struct ConnectionRamp {
    let count: Int
    /// The number of connections that were started; the index of the next one.
    private(set) var startedCount = 0
    private(set) var connectedCount = 0
    private(set) var deflateCount = 0

    /// The number of connections that may be started and not ready.
    static let pendingMax = 256

    init(count: Int) { self.count = count }

    var isComplete: Bool { connectedCount == count }

    /// The index of the connection to start now; nil if none may be started.
    mutating func next() -> Int? {
        guard startedCount < count, startedCount - connectedCount < Self.pendingMax else {
            return nil
        }
        defer { startedCount += 1 }
        return startedCount
    }

    mutating func markConnected(_ client: BenchClient) {
        connectedCount += 1
        if client.isCompressed { deflateCount += 1 }
    }
}

/// Clients whose connections are opened together, before anything else.
protocol RampedClients: BenchClientDelegate {
    var ramp: ConnectionRamp { get set }
    var tokens: RecoveryTokens? { get }
}

extension RampedClients {
    var tokens: RecoveryTokens? { nil }
}

/// The number of connections that this process and this machine allow.
enum ConnectionBudget {
    /// Descriptors beside those of the clients: the publisher, the loop, the standard streams.
    static let spareDescriptors = 64

    /// Raises the soft descriptor limit, and checks that as many connections from as many addresses are possible.
    static func check(_ count: Int, option: String, sourceCount: Int = 1) throws(BenchError) {
        let needed = count + spareDescriptors
        let allowed = Int(clamping: DescriptorLimit.raise())
        guard needed <= allowed else {
            throw .descriptorLimit(needed: needed, allowed: allowed, option: option)
        }
        let range = ProcFile.text(at: "/proc/sys/net/ipv4/ip_local_port_range")
        guard let ports = range.flatMap(portCount), ports * sourceCount < count else { return }
        throw .portRange(connections: count, ports: ports * sourceCount)
    }

    /// The number of ports in a range as the kernel writes it, `32768\t60999`.
    static func portCount(_ text: String) -> Int? {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
        return numbers[1] - numbers[0] + 1
    }
}

extension Row {
    /// The number of connections with compression; no row if none was offered.
    static func deflate(_ ramp: ConnectionRamp, of target: TargetServer) -> [Self] {
        guard target.offersDeflate else { return [] }
        return [
            .row(
                "deflate granted to",
                "\(grouped(ramp.deflateCount)) of \(grouped(ramp.count))",
                ("deflate_granted", .integer(ramp.deflateCount))
            )
        ]
    }
}
