package import ArgumentParser
import CommandSupport
import PusherProtocol

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

    @Option(
        help: ArgumentHelp("Number of connections of each benchmark.", valueName: "count")
    )
    var connections = 1_000

    func validate() throws {
        _ = try plans()
    }

    func run() throws {
        let output = try BenchOutput(path: options.json)
        let target = try options.target()
        var faults: [String] = []
        var results: [[UInt8]] = []
        for plan in try plans() {
            do throws(BenchError) {
                let report = try BenchLoop.report(on: plan, of: target)
                if !output.isStandard { Console.print(report.table + "\n") }
                results.append(report.json)
                if let fault = report.fault { faults.append("\(plan.benchmark): \(fault).") }
            } catch {
                // The other benchmarks still run, unless the server is unreachable.
                results.append(BenchReport.json(plan.benchmark, failure: error))
                faults.append("\(plan.benchmark): \(error)")
                if case .unreachable = error { break }
            }
        }
        try output.write(BenchReport.json(of: results, isFaultless: faults.isEmpty))
        if !faults.isEmpty { throw CommandError(faults.joined(separator: "\n")) }
    }

    /// The benchmarks and their sizes.
    func plans() throws -> [any BenchPlan] {
        let count = try checked(connections, "--connections", max: 100_000)
        let channel = try checkedChannel("fanfare-bench")
        return [
            // First: memory that the server keeps after the other benchmarks would hide what the connections need.
            IdlePlan(channel: channel, connectionCount: count, duration: .seconds(1)),
            DeliveryPlan(
                benchmark: "fanout",
                channels: [channel],
                subscribersPerChannel: count,
                messageCount: 200,
                dataLength: 64,
                pace: .window(8)
            ),
            DeliveryPlan(
                benchmark: "channels",
                channels: try (0..<max(1, count / 4)).map { try checkedChannel("bench-\($0)") },
                subscribersPerChannel: min(4, count),
                messageCount: 10 * count,
                dataLength: 64,
                pace: .window(8)
            ),
            ChurnPlan(channel: channel, cycleCount: 2 * count, concurrency: 64),
            PresencePlan(
                channel: try checkedChannel("presence-fanfare-bench", isPresence: true),
                observerCount: count,
                visitorCount: 4,
                visitCount: 100
            ),
            OverloadPlan(
                channel: channel,
                unrelatedChannel: try checkedChannel("fanfare-bench-unrelated"),
                publisherCount: 16,
                readerCount: count,
                dataLength: 10_240,
                duration: .seconds(2),
                eventCountMax: nil,
                window: 16,
                unrelatedRate: 100,
                obeysRetryAfter: false,
                budget: nil
            ),
        ]
    }
}
