import Glibc
import Histogram
import PusherProtocol
import Testing

@testable import fanfare

@Suite("Report of a benchmark") struct BenchReportTests {
    /// What 5 subscribers × 20 events found in 2 s, each event `lost` by the first subscriber apart.
    private func report(lost: Int = 0, isTimedOut: Bool = false, server: Int64? = nil) throws
        -> FanoutReport
    {
        var tally = Tally(subscriberCount: 5)
        for number in 0..<20 {
            let sequence = tally.send()
            for subscriber in (number < lost ? 1 : 0)..<5 {
                tally.receive(sequence, by: subscriber)
            }
        }
        return FanoutReport(
            plan: try FanoutPlan(url: "ws://127.0.0.1:6001"),
            tally: tally,
            latency: LatencyFigures(
                p50: 1_000_000,
                p90: 2_500_000,
                p99: 12_345_678,
                p999: 13_000_000,
                max: 1_234_000_000
            ),
            connectingTime: .milliseconds(250),
            deliveringTime: .seconds(2),
            server: server == nil ? nil : ServerProcess(id: ownProcess),
            serverTime: server,
            readerTime: 61_700,
            isTimedOut: isTimedOut
        )
    }

    @Test func isATable() throws {
        let table = try report(server: 91_000).table
        #expect(
            table == """
                ws://127.0.0.1:6001, channel news
                5 subscribers (connected in 0.250 s) × 20 events of 64 bytes, 1 outstanding
                  deliveries               100 of 100
                  lost                     0
                  duplicated               0
                  out of order             0
                  deliveries per second    50 in 2.000 s
                  latency p50              1.000 ms
                          p90              2.500 ms
                          p99              12.346 ms
                          p99.9            13.000 ms
                          max              1,234.000 ms
                  server CPU per delivery  0.910 µs (process \(ownProcess))
                  reader CPU per delivery  0.617 µs
                """
        )
    }

    @Test func saysHowToNameTheServer() throws {
        #expect(try report().table.contains("unknown; give the server's process with --pid"))
    }

    @Test func isOneJSONObject() throws {
        let json = String(decoding: try report(lost: 3, isTimedOut: true).json, as: UTF8.self)
        let expected = #"""
            {"benchmark":"fanout","ok":false,"url":"ws://127.0.0.1:6001","channel":"news",\#
            "subscribers":5,"messages":20,"size":64,"deliveries":97,"expected":100,"lost":3,\#
            "duplicated":0,"out_of_order":0,"window":1,"timed_out":true,"connecting_s":0.250000,\#
            "delivering_s":2.000000,"deliveries_per_s":48.5,"latency_us":{"p50":1000.0,\#
            "p90":2500.0,"p99":12345.7,"p99_9":13000.0,"max":1234000.0},"server_pids":[],\#
            "server_cpu_us_per_delivery":null,"reader_cpu_us_per_delivery":0.6361}
            """#
        #expect(json == expected)
    }

    @Test func namesWhatIsWrong() throws {
        #expect(try report().fault == nil)
        #expect(try report(lost: 2).fault == "2 lost")
        let silent = "nothing arrived any more for 0.5 s"
        #expect(try report(lost: 2, isTimedOut: true).fault == "2 lost: \(silent)")
        #expect(try report(isTimedOut: true).fault == "an event was not answered: \(silent)")
    }

    @Test func figuresComeFromTheHistogram() {
        var histogram = Histogram<UInt64>(
            lowestDiscernibleValue: 1_000,
            highestTrackableValue: 3_600_000_000_000
        )
        for value in 1...1_000 { histogram.record(UInt64(value) * 1_000_000) }
        let figures = LatencyFigures(histogram)
        for (figure, value) in [
            (figures.p50, 500), (figures.p90, 900), (figures.p99, 990), (figures.p999, 999),
            (figures.max, 1_000),
        ] {
            let milliseconds = Double(figure) / 1e6
            #expect(abs(milliseconds - Double(value)) <= Double(value) / 1_000)
        }
    }

    @Test func barsFillUp() {
        #expect(
            ProgressBar.bar("Delivering", 500, of: 1_000)
                == "Delivering  ███████████████░░░░░░░░░░░░░░░  50 %  500/1,000"
        )
        #expect(ProgressBar.bar("A", 0, of: 3).contains("░  0 %  0/3"))
        #expect(ProgressBar.bar("A", 3, of: 3).hasSuffix("█  100 %  3/3"))
        // Not all is not 100 %.
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

/// A process that exists.
private let ownProcess = getpid()
