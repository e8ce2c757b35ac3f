import CommandSupport
import Glibc
import Histogram
import Net
import Testing

@testable import FanfareBench

@Suite("Report of a benchmark") struct BenchReportTests {
    /// The report of a fan-out of which the first of 5 subscribers lost this many events.
    private func report(lost: Int = 0, serverTime: Int64? = nil) throws -> BenchReport {
        let scenario = try FanoutCommand.small()
        var tracker = DeliveryTracker(subscriberCount: 5)
        for number in 0..<20 {
            let sequence = tracker.send()
            for subscriber in (number < lost ? 1 : 0)..<5 {
                tracker.receive(sequence, by: subscriber)
            }
        }
        let latency = LatencyFigures(
            p50: 1_000_000,
            p90: 2_500_000,
            p99: 12_345_678,
            p999: 13_000_000,
            max: 1_234_000_000
        )
        let server = serverTime == nil ? nil : ServerProcess(id: ownProcess)
        let usage = ResourceUsage(
            serverTime: serverTime,
            generatorTime: 61_700,
            readCount: 50,
            byteCount: 12_345
        )
        return BenchReport(
            benchmark: "fanout",
            url: "ws://127.0.0.1:6001",
            headline: scenario.headline(connectingTime: seconds(.milliseconds(250))),
            parameters: scenario.parameters,
            rows: [
                BenchReport.Row.deliveries(tracker),
                [.rate("deliveries", "deliveries", tracker.deliveries, in: .seconds(2))],
                BenchReport.Row.latency("latency", "latency", latency),
                BenchReport.Row.cpu(per: "delivery", tracker.deliveries, usage, of: server),
                [.traffic(per: "delivery", tracker.deliveries, usage)],
            ].flatMap { $0 },
            fault: tracker.fault(stalled: nil)
        )
    }

    @Test func isATable() throws {
        let table = try report(serverTime: 91_000).table
        #expect(
            table == """
                fanout: ws://127.0.0.1:6001
                5 subscribers of news (connected in 0.250 s), 20 events of 64 bytes, 1 at a time
                  deliveries                  100 of 100
                  lost                        0
                  duplicated                  0
                  out of order                0
                  deliveries per second       50 in 2.000 s
                  latency p50                 1.000 ms
                          p90                 2.500 ms
                          p99                 12.346 ms
                          p99.9               13.000 ms
                          max                 1,234.000 ms
                  server CPU per delivery     0.910 µs (process \(ownProcess))
                  generator CPU per delivery  0.617 µs
                  read per delivery           123.5 bytes in 0.500 reads
                """
        )
    }

    @Test func anUnknownServerHasAHint() throws {
        #expect(try report().table.contains("unknown; set the server's process with --pid"))
    }

    @Test func isOneJSONObject() throws {
        let json = String(decoding: try report(lost: 3).json, as: UTF8.self)
        let expected = #"""
            {"benchmark":"fanout","format_version":1,"ok":false,"fault":"3 lost",\#
            "url":"ws://127.0.0.1:6001","parameters":{"channel":"news","channels":1,\#
            "subscribers":5,"messages":20,"size_bytes":64,"recovery":"none","window":1,"rate_per_s":null},\#
            "deliveries":97,"expected":100,"lost":3,"duplicated":0,"out_of_order":0,\#
            "deliveries_per_s":48.5,"duration_s":2.000000,"latency_us":{"p50":1000.0,\#
            "p90":2500.0,"p99":12345.7,"p99_9":13000.0,"max":1234000.0},\#
            "server_cpu_us_per_delivery":null,"server_pids":[],\#
            "generator_cpu_us_per_delivery":0.6361,"bytes_per_delivery":127.27,\#
            "reads_per_delivery":0.5155}
            """#
        #expect(json == expected)
    }

    @Test func aFailureIsAnObject() {
        let failure = BenchReport.json("churn", failure: .noServerProcess)
        let text = String(decoding: failure, as: UTF8.self)
        #expect(text.hasPrefix(#"{"benchmark":"churn","format_version":1,"ok":false,"fault":"The"#))
        let all = BenchReport.json(of: [failure, failure], isFaultless: false)
        #expect(
            String(decoding: all, as: UTF8.self)
                == #"{"benchmark":"all","format_version":1,"ok":false,"results":[\#(text),\#(text)]}"#
        )
    }

    @Test func aCountOfZeroIsNotADivisor() throws {
        let rows = [
            [.rate("visits", "visits", 0, in: .zero)],
            BenchReport.Row.cpu(per: "notice", 0, ResourceUsage(), of: nil),
            [.traffic(per: "notice", 0, ResourceUsage())],
        ].flatMap { $0 }
        #expect(rows.first?.text == "0 in 0.000 s")
        #expect(rows.last?.text == "0.0 bytes in 0.000 reads")
    }

    @Test func figuresComeFromTheHistogram() {
        var histogram = Histogram<UInt64>.latencies
        for value in 1...1_000 {
            let now = MonotonicTime(nanoseconds: 500 + Int64(value) * 1_000_000)
            histogram.record(from: 500, to: now)
        }
        let figures = LatencyFigures(histogram)
        for (figure, value) in [
            (figures.p50, 500), (figures.p90, 900), (figures.p99, 990), (figures.p999, 999),
            (figures.max, 1_000),
        ] {
            let milliseconds = Double(figure) / 1e6
            #expect(abs(milliseconds - Double(value)) <= Double(value) / 1_000)
        }
    }

    @Test func latenciesAreNeverNegative() {
        var histogram = Histogram<UInt64>.latencies
        histogram.record(from: 500, to: MonotonicTime(nanoseconds: 0))
        #expect(histogram.maxRecorded == 0)
    }

    @Test func barsFillUp() {
        #expect(
            ProgressBar.bar("Delivering", 500, of: 1_000)
                == "Delivering  ███████████████░░░░░░░░░░░░░░░  50 %  500/1,000"
        )
        #expect(ProgressBar.bar("A", 0, of: 3).contains("░  0 %  0/3"))
        #expect(ProgressBar.bar("A", 3, of: 3).hasSuffix("█  100 %  3/3"))
        // Rounded down.
        #expect(ProgressBar.line("A", 99_999, of: 100_000) == "A: 99,999 of 100,000 (99 %)")
    }

    @Test func numbersAreGroupedAndRounded() {
        #expect(
            [0, 7, 999, 1_000, 12_345, 1_000_000, -1_234].map(grouped) == [
                "0", "7", "999", "1,000", "12,345", "1,000,000", "-1,234",
            ]
        )
        #expect(decimal(0, places: 2) == "0.00")
        #expect(decimal(0.005, places: 2) == "0.01")
        #expect(decimal(999.9996, places: 3) == "1,000.000")
        #expect(decimal(1234.5, places: 1, grouping: false) == "1234.5")
        #expect(decimal(-0.001, places: 2) == "0.00")
        #expect(decimal(-2.5, places: 0) == "-3")
    }
}

/// An existing process.
private let ownProcess = getpid()
