/// A node's report about itself in Redis, for `fanfare nodes`: a hash that it renews with its heartbeats.
package struct NodeReport: Sendable, Hashable {
    /// Whether a node serves clients.
    package enum State: String, Sendable {
        /// It serves them.
        case serving
        /// It is stopping, and sends its clients to other nodes.
        case draining
        /// A server of Redis is unreachable, or does not do what the node needs.
        case isolated
    }

    /// The node's display name.
    package var name: String
    /// Whether it serves clients.
    package var state: State
    /// The number of its clients.
    package var clientCount: Int
    /// The last round trip to Redis, in microseconds.
    package var roundTripMicroseconds: Int
    /// The fingerprint of its apps; nodes with other apps have another one.
    package var apps: String
    /// Its version.
    package var version: String
    /// The time of the report, in milliseconds since 1970 by Redis's clock.
    package var time: Int64
    /// The reason why it is isolated; empty if it is not.
    package var reason = ""

    /// How long a report outlives its node, in milliseconds, so that a dead node is still listed.
    static var lifetime: Int { 600_000 }

    /// The fields of the hash.
    var fields: [(String, String)] {
        [
            ("name", name), ("state", state.rawValue), ("clients", "\(clientCount)"),
            ("round_trip", "\(roundTripMicroseconds)"), ("apps", apps), ("version", version),
            ("time", "\(time)"), ("reason", reason),
        ]
    }
}

extension NodeReport {
    /// Reads the hash; `nil` if it is not a node's.
    init?(_ fields: [String: String]) {
        guard let name = fields["name"], let time = fields["time"].flatMap({ Int64($0) }) else {
            return nil
        }
        self.init(
            name: name,
            state: fields["state"].flatMap { State(rawValue: $0) } ?? .serving,
            clientCount: fields["clients"].flatMap { Int($0) } ?? 0,
            roundTripMicroseconds: fields["round_trip"].flatMap { Int($0) } ?? 0,
            apps: fields["apps"] ?? "",
            version: fields["version"] ?? "",
            time: time,
            reason: fields["reason"] ?? ""
        )
    }
}
