import Cluster
import CommandSupport
import FanfareServer
import PusherProtocol

/// Formats a list of nodes.
struct NodesText {
    private let listing: NodeListing
    private let isColored: Bool

    init(_ listing: NodeListing, isColored: Bool) {
        self.listing = listing
        self.isColored = isColored
    }

    /// A table with a heading.
    ///
    ///     NODE   STATE     CLIENTS  HEARTBEAT  STORES       APPS    VERSION
    ///     web-1  serving    41,204  0.8 s      2/2  0.2 ms  3f9a    0.1.0
    ///     web-2  isolated    9,817  6.1 s      1/2          77c0 !  0.1.0
    var table: [String] {
        guard !listing.nodes.isEmpty else { return ["No nodes."] }
        let heading = ["NODE", "STATE", "CLIENTS", "HEARTBEAT", "STORES", "APPS", "VERSION"]
        let rows = [heading] + listing.nodes.map(row)
        let widths = heading.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.enumerated()
            .map { number, row in
                let cells = row.enumerated()
                    .map { column, text in
                        let space = String(repeating: " ", count: widths[column] - text.count)
                        // Numbers of clients are aligned on the right.
                        return column == 2 ? space + text : text + space
                    }
                let line = cells.joined(separator: "  ").trimmingTrailingSpaces
                return number == 0 ? line : colored(line, listing.nodes[number - 1].state)
            } + reasons
    }

    /// Why nodes are isolated, as they say themselves.
    private var reasons: [String] {
        listing.nodes.compactMap { node in
            guard node.state == .isolated, let reason = node.report?.reason, !reason.isEmpty else {
                return nil
            }
            return "\(node.name): \(reason)"
        }
    }

    private func row(_ node: NodeListing.Node) -> [String] {
        let report = node.report
        let stores = "\(node.storeCount)/\(listing.storeCount)"
        let roundTrip = report.map { "  \(Self.milliseconds($0.roundTripMicroseconds))" } ?? ""
        let isHealthy = node.state == .serving || node.state == .draining
        return [
            node.name, node.state.rawValue, report.map { grouped($0.clientCount) } ?? "",
            Self.age(node.heartbeatAge), isHealthy ? stores + roundTrip : stores,
            (report?.apps ?? "") + (listing.hasOtherApps(node) ? " !" : ""), report?.version ?? "",
        ]
    }

    /// One object for each node.
    var json: [String] {
        listing.nodes.map { node in
            var json = JSONWriter()
            json.beginObject()
            for (name, value) in [
                ("id", node.id), ("name", node.name), ("state", node.state.rawValue),
                ("apps", node.report?.apps ?? ""), ("version", node.report?.version ?? ""),
            ] {
                json.name(name)
                json.string(value)
            }
            for (name, value) in [
                ("clients", node.report?.clientCount ?? 0),
                ("heartbeat_ms", Int(node.heartbeatAge)), ("stores", node.storeCount),
                ("stores_total", listing.storeCount),
                ("round_trip_us", node.report?.roundTripMicroseconds ?? 0),
            ] {
                json.name(name)
                json.integer(value)
            }
            json.name("has_other_apps")
            json.boolean(listing.hasOtherApps(node))
            json.endObject()
            return String(decoding: json.bytes, as: UTF8.self)
        }
    }

    private func colored(_ line: String, _ state: NodeListing.Node.State) -> String {
        guard isColored else { return line }
        let code: String? =
            switch state {
            case .serving: nil
            case .draining: "33"
            case .isolated, .lost: "31"
            }
        return code.map { "\u{1B}[\($0)m\(line)\u{1B}[0m" } ?? line
    }

    /// `0.8 s`, or `4 min` from 100 seconds on.
    static func age(_ milliseconds: Int64) -> String {
        if milliseconds >= 100_000 { return "\(milliseconds / 60_000) min" }
        return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s"
    }

    /// `0.2 ms`.
    static func milliseconds(_ microseconds: Int) -> String {
        "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
    }
}

extension String {
    /// The text without spaces at its end.
    fileprivate var trimmingTrailingSpaces: String {
        String(self[..<(lastIndex { $0 != " " }.map { index(after: $0) } ?? startIndex)])
    }
}
