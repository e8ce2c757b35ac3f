import Foundation
import TestProgram
import Testing

@Suite("fanfare bench", .timeLimit(.minutes(2))) struct BenchCommandTests {
    /// The JSON members of all benchmarks; nil where a benchmark lacks one.
    private struct Result: Decodable {
        var benchmark: String
        var format_version: Int
        var ok: Bool
        var fault: String?
        var url: String?
        var deliveries: Int?
        var expected: Int?
        var cycles: Int?
        var deflate_granted: Int?
        var latency_us: [String: Double]?
        var subscribed_latency_us: [String: Double]?
        var server_pids: [Int]?
        var server_cpu_us_per_delivery: Double?
        var server_cpu_us_per_cycle: Double?
        var server_cpu_us_per_connection: Double?
        var memory_bytes_per_connection: Double?
        var results: [Result]?
    }

    private func run(_ arguments: [String], _ broker: RunningBroker) async throws -> Program.Result
    {
        // All benchmarks take ten seconds of a machine with nothing else to do.
        try await Program.run(
            ["bench"] + arguments + ["--url", broker.url()],
            within: .seconds(180)
        )
    }

    private func result(_ arguments: [String], _ broker: RunningBroker) async throws -> Result {
        let outcome = try await run(arguments + ["--json", "-"], broker)
        #expect(outcome.code == 0, "\(outcome.errors)")
        return try JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8))
    }

    @Test func measuresABroker() async throws {
        let broker = try await RunningBroker()

        let fanout = try await result(
            ["fanout", "--subscribers", "20", "--messages", "10", "--rate", "200", "--deflate"],
            broker
        )
        #expect(fanout.ok)
        #expect(fanout.url == broker.url().replacing("http", with: "ws"))
        #expect(fanout.deliveries == 200)
        #expect(fanout.deflate_granted == 20)
        #expect(fanout.latency_us?.keys.sorted() == ["max", "p50", "p90", "p99", "p99_9"])
        #expect(fanout.server_pids?.count == 1)
        #expect(try #require(fanout.server_cpu_us_per_delivery) > 0)

        let channels = try await result(
            ["channels", "--channels", "5", "--subscribers", "2", "--messages", "20"],
            broker
        )
        #expect(channels.benchmark == "channels")
        #expect(channels.deliveries == 40)

        let churn = try await result(["churn", "--cycles", "20", "--concurrency", "4"], broker)
        #expect(churn.cycles == 20)
        #expect(try #require(churn.subscribed_latency_us?["p99"]) > 0)
        #expect(try #require(churn.server_cpu_us_per_cycle) > 0)

        let pid = try #require(fanout.server_pids?.first)
        let idle = try await result(
            ["idle", "--connections", "20", "--seconds", "0.2", "--pid", "\(pid)"],
            broker
        )
        #expect(idle.server_pids == [pid])
        #expect(idle.deliveries == 20)
        // Null if the server has reused memory.
        #expect(idle.memory_bytes_per_connection ?? 1 > 0)
        #expect(try #require(idle.server_cpu_us_per_connection) > 0)
    }

    @Test func writesATableAndAFile() async throws {
        let broker = try await RunningBroker()
        let directory = try TemporaryDirectory()
        let file = directory.path("result.json")
        let outcome = try await run(
            ["all", "--connections", "8", "--json", file],
            broker
        )
        // The presence benchmark depends on the broker's features, and a busy machine may exceed the overload's limits;
        // the other benchmarks must succeed.
        for name in ["idle", "fanout", "channels", "churn"] {
            #expect(outcome.output.contains("\(name): ws://127.0.0.1"))
        }
        let result = try JSONDecoder().decode(
            Result.self,
            from: Data(contentsOf: URL(filePath: file))
        )
        #expect(result.benchmark == "all")
        #expect(result.ok == (outcome.code == 0))
        let results = try #require(result.results)
        #expect(
            results.map(\.benchmark)
                == ["idle", "fanout", "channels", "churn", "presence", "overload"]
        )
        for result in results.prefix(4) { #expect(result.ok) }
    }

    @Test func throughTLS() async throws {
        let directory = try TemporaryDirectory()
        let (certificate, key) = (directory.path("c.pem"), directory.path("k.pem"))
        _ = try await Program.run(
            ["keys", "certificate", "--certificate", certificate, "--key", key]
        )
        let broker = try await RunningBroker(
            ["--tls-port", "0", "--tls-certificate", certificate, "--tls-key", key]
        )
        let arguments = [
            "bench", "fanout", "--subscribers", "3", "--messages", "3", "--url", broker.url("wss"),
        ]
        #expect(try await Program.run(arguments + ["--trust", certificate]).code == 0)
        #expect(try await Program.run(arguments + ["--insecure"]).code == 0)
        let distrust = try await Program.run(arguments)
        #expect(distrust.code == 1)
        #expect(distrust.errors.contains("--trust FILE trusts its certificate"))
    }

    @Test func errorsHaveHints() async throws {
        let broker = try await RunningBroker()
        let small = ["fanout", "--subscribers", "2", "--messages", "2"]
        for (options, text) in [
            (["--key", "wrong-key"], "Application does not exist (4001). Check --key."),
            (["--secret", "wrong"], "refused an event with status 401: Invalid signature"),
            (["--app-id", "77"], "Check --app-id"),
        ] {
            let outcome = try await run(small + options + ["--json", "-"], broker)
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains(text), "\(outcome.errors)")
            let result = try JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8))
            #expect(!result.ok)
            #expect(try #require(result.fault).contains(text))
        }
    }

    @Test(arguments: [
        ("fanout --url ftp://h", "--url must be like ws://"),
        ("fanout --size 31", "--size must be between 32"),
        ("fanout --window 1 --rate 1", "exclude each other"),
        ("fanout --channel presence-a", "public or private"),
        ("fanout --pid 4194305", "no such process"),
        ("fanout --trust f --insecure", "Choose --trust or"),
        ("channels --channels 0", "--channels must be between 1"),
        ("churn --rate 0", "--rate must be between"),
        ("idle --seconds 0", "--seconds must be between"),
        ("presence --channel news", "begin with presence-"),
        ("presence --visitors 100", "between 1 and 99"),
        ("joins --users 20001", "between 1 and 20,000"),
        ("joins --users 5 --step 6", "between 1 and 5"),
        ("joins --within 0", "--within must be between"),
        ("stalled --stalled 0", "--stalled must be between"),
        ("stalled --channels 3", "a multiple of --channels"),
        ("stalled --seconds 0", "--seconds must be between 0.1"),
        ("stalled --reconnects 0", "--reconnects must be between"),
        ("stalled --budget 0", "--budget must be between 1"),
        ("stalled --channel presence-a", "public or private"),
        ("overload --publishers 0", "--publishers must be"),
        ("overload --events 0", "--events must be between 1"),
        ("overload --rate 0.5", "--rate must be between 1"),
        ("overload --budget 0", "--budget must be between 1"),
        ("overload --channel presence-a", "public or private"),
        ("soak --warm-up 0", "--warm-up must be between 0.1"),
        ("soak --visitors 0", "--visitors must be between 0.1"),
        ("soak --tls-url ws://h", "must be like wss://"),
        ("stalled --deflate", "--deflate is not supported"),
        ("soak --deflate", "--deflate is not supported"),
        ("soak --backlog 0", "--backlog must be between 1"),
        ("all --connections -1", "--connections"),
    ])
    func refusesOptions(_ command: String, _ text: String) async throws {
        let words = command.split(separator: " ").map(String.init)
        let outcome = try await Program.run(["bench"] + words)
        #expect(outcome.code == 64)
        #expect(outcome.errors.contains(text), "\(outcome.errors)")
    }

    @Test(arguments: [
        "fanout", "channels", "churn", "idle", "presence", "joins", "stalled", "overload", "soak",
        "all",
    ])
    func helpHasExamples(command: String) async throws {
        let help = try await Program.run(["bench", command, "--help"])
        #expect(help.code == 0)
        #expect(help.output.contains("Examples:\n  fanfare bench \(command)"), "\(help.output)")
    }
}
