import CommandSupport
import Net

/// Limits and counts the connections while a benchmark opens them.
struct ConnectionRamp {
    /// The number of connections to open.
    let count: Int
    /// The number of connections that were started; the index of the next one.
    private(set) var startedCount = 0
    /// The number of connections that are ready.
    private(set) var connectedCount = 0
    /// The number of connections with permessage-deflate.
    private(set) var deflateCount = 0

    /// The number of connections that may be started and not ready.
    static let pendingMax = 256

    /// Creates a ramp without connections.
    init(count: Int) { self.count = count }

    /// Whether all connections are ready.
    var isComplete: Bool { connectedCount == count }

    /// The index of the connection to start now; nil if none may be started.
    mutating func next() -> Int? {
        guard startedCount < count, startedCount - connectedCount < Self.pendingMax else {
            return nil
        }
        defer { startedCount += 1 }
        return startedCount
    }

    /// Counts a connection as ready.
    mutating func markConnected(_ client: BenchClient) {
        connectedCount += 1
        if client.isCompressed { deflateCount += 1 }
    }
}

/// Clients whose connections are opened together, before anything else.
protocol RampedClients: BenchClientDelegate {
    /// Counts the ready connections.
    var ramp: ConnectionRamp { get set }
    /// The clients' session tokens.
    var tokens: RecoveryTokens? { get }
}

extension RampedClients {
    var tokens: RecoveryTokens? { nil }

    /// Opens more connections and shows the progress; returns whether all are ready.
    ///
    /// - Throws: When a connection cannot be opened, or none was acknowledged within the stall timeout.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        if ramp.isComplete { return true }
        while let index = ramp.next() { try generator.connect(index, self, token: tokens?[index]) }
        return try generator.showConnecting(ramp, at: now)
    }
}

/// The number of connections that this process and this machine allow.
enum ConnectionBudget {
    /// Descriptors beside those of the clients: the publisher, the loop, the standard streams.
    static let spareDescriptors = 64

    /// Raises the soft descriptor limit, and checks that as many connections from as many addresses are possible.
    static func check(
        _ count: Int,
        option: String,
        sourceCount: Int = 1
    ) throws(BenchError) {
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
