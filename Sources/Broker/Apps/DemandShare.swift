/// One node's share of a rate that an app has on all nodes of a cluster.
///
/// The share follows the node's part of the demand of the last seconds. A node always has half of an equal share,
/// because demand can move between nodes. For a few seconds all nodes together can therefore exceed the rate, by half
/// at most.
public enum DemandShare {
    /// The share of one node.
    ///
    /// - Parameters:
    ///   - rate: The rate of all nodes, per second.
    ///   - demand: The requests to this node in the last seconds.
    ///   - total: The requests to all nodes, including this one.
    ///   - nodeCount: The number of nodes.
    /// - Returns: The rate of this node, per second: from 1 to `rate`.
    public static func share(of rate: Int, demand: Int, total: Int, nodeCount: Int) -> Int {
        let nodeCount = max(1, nodeCount)
        let total = max(demand, total)
        let part =
            total == 0
            ? Double(rate) / Double(nodeCount) : Double(rate) * Double(demand) / Double(total)
        let least = Double(rate) / Double(2 * nodeCount)
        return min(rate, max(1, Int(max(part, least).rounded(.up))))
    }
}

/// The increase of a counter in the last seconds, from occasional readings.
public struct DemandWindow: Sendable {
    /// The length of the window, in milliseconds.
    public static let length: Int64 = 5_000

    private var readings: [(time: Int64, count: Int)] = []

    /// Creates a window without readings.
    public init() {}

    /// Takes a reading of the counter, which never decreases, at a time in milliseconds of a steady clock.
    ///
    /// Returns the increase within the window; since the first reading if that is later.
    public mutating func read(_ count: Int, at now: Int64) -> Int {
        // One reading at the beginning of the window, or before it, is the base.
        while readings.count > 1, now - readings[1].time >= Self.length { readings.removeFirst() }
        readings.append((now, count))
        return max(0, count - readings[0].count)
    }
}
