public import BrokerConfiguration
import PusherProtocol

/// The limits of a configuration, as a table for `fanfare check --limits` and docs/limits.md.
public struct LimitTable: Sendable {
    /// One limit.
    public struct Row: Sendable, Equatable {
        /// The name in `fanfare_limit_hits_total{limit="…"}`.
        public let name: String
        /// The key of the configuration, with `N` for the position of an app.
        public let key: String
        /// The value as written in a configuration file; where apps differ, each value once, in their order.
        public let value: String
        /// The effect when the limit is reached.
        public let consequence: String
        /// The party that notices first.
        package let audience: LimitRule.Audience
    }

    /// A row for each limit.
    public let rows: [Row]

    /// Creates the table of a configuration.
    public init(_ configuration: Configuration) {
        rows = Limit.allCases.map { limit in
            let rule = limit.rule
            return Row(
                name: limit.rawValue,
                key: rule.key,
                value: configuration.written(rule.key).joined(separator: ", "),
                consequence: rule.consequence,
                audience: rule.audience
            )
        }
    }

    /// One line for each limit, in aligned columns.
    public var lines: [String] {
        let cells = rows.map { [$0.key, $0.value, $0.name] }
        let widths = (0..<3).map { column in cells.map(\.[column].count).max() ?? 0 }
        return zip(rows, cells).map { row, cells in
            zip(cells, widths)
                .map { $0 + String(repeating: " ", count: $1 - $0.count + 2) }
                .joined() + row.consequence
        }
    }

    /// The rows in Markdown: a heading and a table for each party that notices limits.
    public var markdown: String {
        LimitRule.Audience.allCases.map { audience in
            let rows = rows.filter { $0.audience == audience }
            return rows.reduce(
                "### \(audience.rawValue)\n\n| Key | Default | Effect | Metric |\n|---|---|---|---|\n"
            ) {
                $0 + "| `\($1.key)` | \($1.value) | \($1.consequence) | `\($1.name)` |\n"
            }
        }
        .joined(separator: "\n")
    }
}
