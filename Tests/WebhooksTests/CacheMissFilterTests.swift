import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Repeated cache misses are removed, until the cache is filled or for a minute")
struct CacheMissFilterTests {
    private func report(
        _ event: (ChannelName) -> ReportedEvent,
        _ name: String = "cache-x",
        at time: Int64
    ) -> Report {
        Report(app: appID, event: event(channel(name)), uptime: time)
    }

    /// The results for the reports, in order.
    private func verdicts(_ reports: [Report], countMax: Int = 10) -> [Bool] {
        var misses = CacheMissFilter(countMax: countMax)
        return reports.map { misses.process($0) }
    }

    @Test func aSecondMissWithinAMinuteIsNotReported() {
        let reports = [0, 59_999, 60_000, 60_001].map { report(ReportedEvent.cacheMiss, at: $0) }
        #expect(verdicts(reports) == [true, false, true, false])
    }

    @Test func aMissIsReportedAgainAfterTheCacheWasFilled() {
        let reports = [
            report(ReportedEvent.cacheMiss, at: 0), report(ReportedEvent.cacheFilled, at: 1),
            report(ReportedEvent.cacheMiss, at: 2), report(ReportedEvent.cacheMiss, at: 60_001),
        ]
        #expect(verdicts(reports) == [true, false, true, false])
    }

    @Test func channelsAreSeparate() {
        let reports = ["cache-x", "cache-y"].map { report(ReportedEvent.cacheMiss, $0, at: 0) }
        #expect(verdicts(reports) == [true, true])
    }

    @Test func beyondTheLimitTheOldestIsRemoved() {
        let reports = ["cache-a", "cache-b", "cache-c", "cache-c", "cache-a"]
            .map { report(ReportedEvent.cacheMiss, $0, at: 0) }
        #expect(verdicts(reports, countMax: 2) == [true, true, true, false, true])
    }
}
