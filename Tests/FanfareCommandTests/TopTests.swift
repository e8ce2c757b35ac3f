import BrokerConfiguration
import FanfareServer
import Net
import TestProgram
import Testing

@testable import fanfare

@Suite("fanfare top", .timeLimit(.minutes(1))) struct TopTests {
    private static func metrics(
        connections: Int,
        opened: Int,
        delivered: Int,
        hits: Int = 0
    ) -> MetricsSample {
        MetricsSample(
            """
            # HELP fanfare_build_info 1, with the version of the broker.
            # TYPE fanfare_build_info gauge
            fanfare_build_info{version="0.1.0"} 1
            fanfare_channels 3
            fanfare_connections \(connections)
            fanfare_connections_closed_total 5
            fanfare_connections_opened_total \(opened)
            fanfare_events_delivered_total \(delivered)
            fanfare_events_published_total 7
            fanfare_inbound_bytes 12
            fanfare_limit_hits_total{limit="connections"} \(hits)
            fanfare_limit_hits_total{limit="members"} 9
            fanfare_messages_received_total 8
            fanfare_queued_bytes 1572864

            """
        )
    }

    @Test func seriesAreParsed() {
        let sample = MetricsSample("# TYPE a gauge\na 1\nb{k=\"x y\"} 2\nb{k=\"z\"} 3\nno number\n")
        #expect(sample.series.map(\.name) == ["a", "b", "b"])
        #expect(sample["a"] == 1)
        #expect(sample["b"] == 5)
        #expect(sample["c"] == nil)
        #expect(sample.label("k", of: "b") == "x y")
        #expect(sample.label("k", of: "a") == nil)
    }

    @Test("The first refresh has counts, the next rates, too")
    func screen() {
        var screen = TopScreen(url: "http://h:1/metrics")
        let start = MonotonicTime(nanoseconds: 0)
        screen.show(Self.metrics(connections: 1_234, opened: 1_239, delivered: 0), at: start)
        #expect(
            screen.text == """
                fanfare 0.1.0  http://h:1/metrics

                  connections              1,234
                  channels                     3
                  messages in                  –
                  events                       –
                  deliveries                   –
                  queued                 1.5 MiB
                  unprocessed               12 B
                """
        )
        let later = start.advanced(by: .seconds(2))
        let sample = Self.metrics(connections: 1_244, opened: 1_249, delivered: 2_468_000, hits: 3)
        screen.show(sample, at: later)
        #expect(
            screen.text == """
                fanfare 0.1.0  http://h:1/metrics

                  connections              1,244  +5/s  -0/s
                  channels                     3
                  messages in                0/s
                  events                     0/s
                  deliveries         1,234,000/s
                  queued                 1.5 MiB
                  unprocessed               12 B

                  limits reached: connections 3
                """
        )
        // A broker that was restarted counts from zero: no negative rates.
        screen.show(Self.metrics(connections: 1, opened: 1, delivered: 1), at: later)
        #expect(!screen.text.contains("limits reached"))
        #expect(screen.text.contains("deliveries                   –"))
        screen.problem = "The metrics cannot be read"
        #expect(screen.text.hasSuffix("\n\nThe metrics cannot be read"))
    }

    @Test("A broker's metrics, with or without the path", arguments: ["", "/", "/metrics"])
    func aBroker(path: String) async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.metrics.port = 0
        let server = try BrokerServer(configuration: configuration)
        let port = try #require(try await server.start().metrics?.port)
        let result = try await Program.run(
            ["top", "--url", "http://127.0.0.1:\(port)\(path)"]
                + ["--count", "2", "--interval", "0.1"]
        )
        await server.stop(within: .seconds(1))
        #expect(result.code == 0)
        #expect(result.errors.isEmpty)
        #expect(result.output.components("fanfare 0.1.0  http://127.0.0.1:\(port)/metrics") == 2)
        #expect(result.output.components("connections") == 2)
        #expect(result.output.contains("deliveries                 0/s"))
    }

    @Test func anotherServerIsNoBroker() async throws {
        let broker = try await RunningBroker()
        let result = try await Program.run(["top", "--url", broker.url()])
        #expect(result.code == 1)
        #expect(result.errors.contains("is not the address of a broker's metrics (status 404)"))
    }

    @Test(arguments: [
        (["top"], 1, "FANFARE_METRICS_PORT=9100"),
        (["top", "--url", "http://127.0.0.1:1"], 1, "Check metrics.host and metrics.port"),
        (["top", "--url", "nowhere"], 1, "--url must be an address such as"),
        (["top", "--interval", "0"], 64, "--interval must be 0.1 to 3600 seconds"),
        (["top", "--count", "0"], 64, "--count must be 1 or more"),
    ])
    func mistakes(arguments: [String], code: Int32, text: String) async throws {
        let result = try await Program.run(arguments)
        #expect(result.code == code)
        #expect(result.errors.contains(text))
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(_ text: String) -> Int { ranges(of: text).count }
}
