import Broker
import BrokerConfiguration
import CoreMetrics
import Net
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Observability

@Suite("Metrics") struct MetricsTests {
    @Test func areShownOnAPortOfTheirOwnAlone() async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.metrics.port = 0
        let server = try BrokerServer(configuration: configuration)
        let addresses = try await server.start()
        let port = try #require(addresses.metrics?.port)
        let answer = try await Self.get("/metrics", port)
        #expect(answer.status == 200)
        #expect(answer.head.lowercased().contains("content-type: text/plain"))
        #expect(answer.body.contains("# TYPE fanfare_limit_hits_total counter\n"))
        for limit in Limit.allCases {
            let series = #"fanfare_limit_hits_total{limit="\#(limit.rawValue)"} 0"#
            #expect(answer.body.contains(series + "\n"))
        }
        #expect(try await Self.get("/", port).status == 404)
        let publicPort = try #require(addresses.plain?.port)
        #expect(try await Self.get("/metrics", publicPort).status == 404)
        await server.stop(within: .seconds(1))
        // A stopped broker still returns its counters.
        #expect(await server.metrics.contains("fanfare_limit_hits_total"))
        #expect(throws: (any Error).self) { try Wire(port: port) }
    }

    @Test("Each has one HELP and one TYPE, ahead of its values")
    func eachIsExplained() async throws {
        try await TestBroker.run { broker in
            let lines = await broker.server.metrics.split(separator: "\n")
            #expect(lines.contains(#"fanfare_build_info{version="0.1.0"} 1"#))
            var explained: [Substring: [Substring]] = [:]
            for line in lines {
                if line.hasPrefix("# ") {
                    let words = line.split(separator: " ", maxSplits: 3)
                    try #require(words.count == 4, "\(line)")
                    explained[words[2], default: []].append(words[1])
                } else {
                    let name = line.prefix { $0 != "{" && $0 != " " }
                    #expect(explained[name] == ["HELP", "TYPE"], "\(line)")
                }
            }
            #expect(explained.count > 20)
        }
    }

    @Test("The names are those of counters and gauges, and no text has two lines")
    func names() {
        for metric in BrokerMetric.all {
            #expect(metric.name.hasPrefix("fanfare_"))
            let isCounter = metric.name.hasSuffix("_total")
            switch metric.source {
            case .observer, .counter, .counters: #expect(isCounter, "\(metric.name)")
            case .gauge, .gauges: #expect(!isCounter, "\(metric.name)")
            }
            #expect(metric.help.hasSuffix(".") && !metric.help.contains("\n"), "\(metric.name)")
        }
    }

    @Test func areOffByDefault() async throws {
        var configuration = Configuration.development
        configuration.port = 0
        let server = try BrokerServer(configuration: configuration)
        #expect(try await server.start().metrics == nil)
        await server.stop(within: .seconds(1))
    }

    @Test(arguments: [1, 3]) func countTheWorkOfTheBroker(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<4 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "news")
                clients.append(client)
            }
            _ = try await broker.trigger("e", "1", on: "news")
            for client in clients { _ = try await client.nextText() }
            _ = try await broker.trigger("e", "1", on: "nobody")
            for (name, value) in [
                ("connections", 4), ("channels", 1), ("queued_bytes", 0),
                ("messages_received_total", 4), ("events_published_total", 2),
                ("events_delivered_total", 4), ("connections_opened_total", 4),
                ("connections_closed_total", 0), ("queues_dropped_total", 0),
            ] {
                #expect(await broker.metric("fanfare_" + name) == value, "\(name)")
            }
            // A second scrape counts nothing twice.
            #expect(await broker.metric("fanfare_events_published_total") == 2)
        }
    }

    @Test(arguments: [1, 3]) func countWhatBecomesOfResumes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recovery.standard.messagesMax = 2
            $0.apps[0].recovery.standard.ageMax = 200
        } _: { broker in
            let first = try await TrackingWire(broker, "a")
            for _ in 0..<5 { _ = try await broker.trigger("e", "1", on: "a") }
            let stream = first.position.stream
            for serial in [UInt64(0), 3, 5, 9] {
                let position = ChannelPosition(stream: stream, serial: serial)
                _ = try await TrackingWire(broker, "a", position: position)
            }
            for (series, value) in [
                (#"resumes_total{result="began"}"#, 1), (#"resumes_total{result="recovered"}"#, 2),
                (#"resumes_total{result="truncated"}"#, 1), (#"resumes_total{result="ahead"}"#, 1),
                (#"resumes_total{result="unknown_session"}"#, 0),
                (#"evicted_total{limit="messages_max"}"#, 3),
                (#"evicted_total{limit="app_retained_bytes"}"#, 0),
                (#"window_seconds{app="1"}"#, 200), ("resumes_waiting", 0),
            ] {
                #expect(await broker.metric("fanfare_recovery_" + series) == value, "\(series)")
            }
            // A second scrape counts nothing twice.
            let again = await broker.metric(#"fanfare_recovery_resumes_total{result="recovered"}"#)
            #expect(again == 2)
        }
    }

    private static func get(_ path: String, _ port: UInt16) async throws -> Answer {
        let wire = try Wire(port: port)
        try wire.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        return try await wire.answer()
    }
}

@Suite("The text format of Prometheus") struct PrometheusRegistryTests {
    @Test func metricsStandTogetherByNameAndInOrder() {
        let registry = PrometheusRegistry()
        Counter(label: "b_total", dimensions: [("k", "2")], factory: registry).increment(by: 3)
        Meter(label: "c", factory: registry).set(-4)
        Counter(label: "b_total", dimensions: [("k", "1")], factory: registry).increment()
        Counter(label: "b_total", dimensions: [("k", "1")], factory: registry).increment()
        #expect(
            registry.text == """
                # TYPE b_total counter
                b_total{k="1"} 2
                b_total{k="2"} 3
                # TYPE c gauge
                c -4

                """
        )
    }

    @Test func textsPrecedeTypesAndAreEscaped() {
        let registry = PrometheusRegistry(helpTexts: ["m": "a\\b\nc \"d\"", "n": "unused"])
        Meter(label: "m", factory: registry).set(1)
        #expect(
            registry.text == #"""
                # HELP m a\\b\nc "d"
                # TYPE m gauge
                m 1

                """#
        )
    }

    @Test func valuesOfLabelsAreEscaped() {
        let registry = PrometheusRegistry()
        let value = "a\"b\\c\nd"
        Meter(label: "m", dimensions: [("k", value)], factory: registry).set(1)
        #expect(registry.text == "# TYPE m gauge\nm{k=\"a\\\"b\\\\c\\nd\"} 1\n")
    }

    @Test func whatIsNoNumberDoesNoHarm() {
        let registry = PrometheusRegistry()
        let meter = Meter(label: "m", factory: registry)
        for value in [Double.nan, .infinity, -.infinity, 1e300] {
            meter.set(value)
            #expect(registry.text.hasSuffix("m 0\n"))
        }
        meter.set(2.6)
        #expect(registry.text.hasSuffix("m 3\n"))
    }
}
