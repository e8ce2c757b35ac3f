import ArgumentParser
import FanfareServer

/// `fanfare check`: judges a configuration without running a broker.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Judge a configuration, and say what it amounts to.",
        discussion: """
            Reads the file and the FANFARE_… variables exactly as "fanfare serve" does. When all is \
            well it says what the broker would do; otherwise it lists every fault with its place \
            and ends with code 1. Without a file it judges the development configuration.

            Examples:
              fanfare check --config fanfare.yaml
              fanfare check --config fanfare.yaml --limits
              FANFARE_LISTEN_PORT=7000 fanfare check
            """
    )

    @OptionGroup var source: ConfigurationSource

    @Flag(help: "List every limit: its key, its value, its name in the metrics, and what happens.")
    var limits = false

    func run() throws {
        let configuration = try source.load()
        let name = source.path.map { "\($0) is fine." }
        Standard.print(name ?? "There is no file; the development configuration is fine.")
        Standard.print("")
        guard !limits else {
            for line in LimitTable(configuration).lines { Standard.print("  \(line)") }
            return
        }
        for line in ConfigurationSummary.lines(of: configuration) { Standard.print("  \(line)") }
    }
}
