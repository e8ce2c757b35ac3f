package import ArgumentParser
import CommandSupport

/// `fanfare bench`: load-tests a server that speaks the Pusher protocol.
package struct BenchCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Load-test a server of the Pusher protocol, and check every delivery.",
        discussion: """
            Every delivery must arrive once and in order; otherwise the exit code is 1. If the \
            server runs on this machine, its CPU time and memory are measured too. A wss:// URL \
            uses TLS; --deflate offers compression.

            Examples:
              fanfare bench fanout
              fanfare bench channels --channels 500 --subscribers 4 --rate 1000
              fanfare bench churn --url wss://localhost:6002 --insecure
              fanfare bench idle --connections 10000
              fanfare bench presence --observers 50
              fanfare bench joins --users 5000
              fanfare bench stalled --stalled 1000
              fanfare bench overload --publishers 16
              fanfare bench offline --clients 10000
              fanfare bench restart --clients 19000 -- fanfare serve
              fanfare bench soak --seconds 1800
              fanfare bench all --json result.json
            """,
        subcommands: [
            FanoutCommand.self, ChannelsCommand.self, ChurnCommand.self, IdleCommand.self,
            PresenceCommand.self, JoinsCommand.self, StalledCommand.self, OverloadCommand.self,
            OfflineCommand.self, RestartCommand.self, SoakCommand.self, AllCommand.self,
        ]
    )

    package init() {}
}

/// `fanfare bench all`: runs each benchmark briefly.
struct AllCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "all",
        abstract: "Run each benchmark for a few seconds.",
        discussion: """
            If a benchmark fails, the error is reported and the others still run. The exit code is \
            1 if one failed, or if a delivery was lost, repeated or out of order. In the JSON \
            object, "results" has the object of each benchmark.

            Examples:
              fanfare bench all
              fanfare bench all --connections 200 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of connections of each benchmark.")) var connections = 1_000

    func validate() throws {
        try check(connections, "--connections", max: 100_000)
    }

    func run() throws {
        let output = try BenchOutput(path: options.json)
        var faults: [String] = []
        var results: [[UInt8]] = []
        for scenario in try scenarios() {
            let result = try options.result(of: scenario, output, tableEnd: "\n")
            results.append(result.json)
            if let fault = result.fault { faults.append("\(type(of: scenario).name): \(fault)") }
            // The other benchmarks still run after a fault, unless the server is unreachable.
            guard result.isReachable else { break }
        }
        try output.write(BenchReport.json(of: results, isFaultless: faults.isEmpty))
        if !faults.isEmpty { throw CommandError(faults.joined(separator: "\n")) }
    }

    private func scenarios() throws -> [any Scenario] {
        let count = "\(connections)"
        return [
            // First: memory that the server keeps after the other benchmarks would hide what the connections need.
            try IdleCommand.with(["--connections", count, "--seconds", "1"]),
            try FanoutCommand.with(["--subscribers", count, "--messages", "200"]),
            try ChannelsCommand.with([
                "--channels", "\(max(1, connections / 4))", "--channel", "bench",
                "--subscribers", "\(min(4, connections))", "--messages", "\(10 * connections)",
            ]),
            try ChurnCommand.with(["--cycles", "\(2 * connections)"]),
            try PresenceCommand.with(["--observers", count, "--visits", "100"]),
            try OverloadCommand.with(["--subscribers", count, "--seconds", "2"]),
        ]
    }
}
