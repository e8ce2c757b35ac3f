import Primitives

/// What one node of a cluster uses of an app's limits.
public struct AppUsage: Hashable, Sendable {
    /// The number of connections.
    public var connections: Int
    /// The requests of the last seconds: all, triggers, queries, terminations; see ``RequestAllowance/askedCounts``.
    public var demands: [Int]

    /// Creates a usage.
    public init(connections: Int, demands: [Int]) {
        self.connections = connections
        self.demands = demands
    }

    /// Whether nothing is used.
    public var isEmpty: Bool { connections == 0 && demands.allSatisfy { $0 == 0 } }

    /// Adds the usage of another node.
    ///
    /// A sum is capped at 2^53 − 1, whatever the number of nodes that report.
    public mutating func add(_ other: AppUsage) {
        connections = min(connections + other.connections, Int(SafeInteger.max))
        for (index, demand) in other.demands.enumerated() where index < demands.count {
            demands[index] = min(demands[index] + demand, Int(SafeInteger.max))
        }
    }
}

/// A node's report of its use of all apps' limits, as text: a line for the time, and one for each app.
public struct NodeUsage: Hashable, Sendable {
    /// When the node made the report, in milliseconds since 1970 by the clock that all nodes read.
    public var time: Int64
    /// The usage of each app that is not empty.
    public var apps: [AppID: AppUsage]

    /// Creates a usage.
    public init(time: Int64, apps: [AppID: AppUsage]) {
        self.time = time
        self.apps = apps
    }

    /// The text.
    public var text: String {
        let lines = apps.map { app, usage in
            ([usage.connections] + usage.demands).map { "\($0)" }.joined(separator: " ")
                + " \(app.text)"
        }
        return (["\(time)"] + lines.sorted()).joined(separator: "\n")
    }

    /// Reads a text; `nil` for another form.
    public init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, let time = Int64(safe: Array(first.utf8).span)
        else { return nil }
        var apps: [AppID: AppUsage] = [:]
        for line in lines.dropFirst() {
            let words = line.split(
                separator: " ",
                maxSplits: Self.numberCount,
                omittingEmptySubsequences: false
            )
            let numbers = words.prefix(Self.numberCount).compactMap {
                Int(safe: Array($0.utf8).span)
            }
            guard words.count == Self.numberCount + 1, numbers.count == Self.numberCount else {
                return nil
            }
            apps[AppID(String(words[Self.numberCount]))] = AppUsage(
                connections: numbers[0],
                demands: Array(numbers.dropFirst())
            )
        }
        self.init(time: time, apps: apps)
    }

    private static var numberCount: Int { 1 + RequestAllowance.rateCount }
}
