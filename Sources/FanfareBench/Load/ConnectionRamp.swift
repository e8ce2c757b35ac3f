import CommandSupport
import Net

/// How many of the connections that a run needs are on their way, and how many are in.
struct ConnectionRamp {
    /// How many are needed.
    let count: Int
    /// How many were begun; also the index of the next one.
    private(set) var startedCount = 0
    /// How many are in.
    private(set) var connectedCount = 0
    /// To how many of them the server granted permessage-deflate.
    private(set) var deflateCount = 0

    /// How many connections may be between their first packet and their acknowledgement.
    static let pendingMax = 256

    /// None yet.
    ///
    /// - Parameter count: How many are needed.
    init(count: Int) { self.count = count }

    /// Whether all are in.
    var isComplete: Bool { connectedCount == count }

    /// The index of a connection to begin now; nil if none may be.
    mutating func next() -> Int? {
        guard startedCount < count, startedCount - connectedCount < Self.pendingMax else {
            return nil
        }
        defer { startedCount += 1 }
        return startedCount
    }

    /// Counts a client as being in.
    mutating func markConnected(_ client: BenchClient) {
        connectedCount += 1
        if client.isCompressed { deflateCount += 1 }
    }
}

extension LoadGenerator {
    /// Lets more clients in, and shows how many are.
    ///
    /// - Parameters:
    ///   - delegate: Whom they belong to.
    ///   - ramp: Who is in; the delegate admits each client.
    ///   - now: The time.
    /// - Returns: Whether all are in.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func connectClients(
        of delegate: any BenchClientDelegate,
        _ ramp: inout ConnectionRamp,
        at now: MonotonicTime
    ) throws(BenchError) -> Bool {
        while let index = ramp.next() {
            try connector.connect(index, delegate: delegate, on: reactor)
        }
        let (count, all) = (ramp.connectedCount, ramp.count)
        progress.show("Connecting", count, of: all, at: now)
        if ramp.isComplete {
            progress.end()
        } else if isStalled(count, at: now) {
            throw .connectingStalled(connected: count, of: all, timeout: target.stallTimeout)
        }
        return ramp.isComplete
    }
}

/// How many connections this process and this machine allow.
enum ConnectionBudget {
    /// Descriptors that are not the benchmark's clients: the publisher, the loop's own, standard streams.
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
