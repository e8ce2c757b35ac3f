import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Misses of a cache are told once, until it is filled or a minute has passed")
struct CacheMissFilterTests {
    private func report(
        _ event: (ChannelName) -> ReportedEvent,
        _ name: String = "cache-x",
        at time: Int64
    ) -> Report {
        Report(app: appID, event: event(channel(name)), uptime: time)
    }

    /// What is told of the reports, one after the other.
    private func verdicts(_ reports: [Report], countMax: Int = 10) -> [Bool] {
        var misses = CacheMissFilter(countMax: countMax)
        return reports.map { misses.process($0) }
    }

    @Test func theSecondMissIsNoNewsWithinAMinute() {
        let reports = [0, 59_999, 60_000, 60_001].map { report(ReportedEvent.cacheMiss, at: $0) }
        #expect(verdicts(reports) == [true, false, true, false])
    }

    @Test func aMissIsNewsAgainWhenTheCacheWasFilled() {
        let reports = [
            report(ReportedEvent.cacheMiss, at: 0), report(ReportedEvent.cacheFilled, at: 1),
            report(ReportedEvent.cacheMiss, at: 2), report(ReportedEvent.cacheMiss, at: 60_001),
        ]
        #expect(verdicts(reports) == [true, false, true, false])
    }

    @Test func oneChannelIsNoOther() {
        let reports = ["cache-x", "cache-y"].map { report(ReportedEvent.cacheMiss, $0, at: 0) }
        #expect(verdicts(reports) == [true, true])
    }

    @Test func beyondTheBoundTheOldestIsForgotten() {
        let reports = ["cache-a", "cache-b", "cache-c", "cache-c", "cache-a"]
            .map { report(ReportedEvent.cacheMiss, $0, at: 0) }
        #expect(verdicts(reports, countMax: 2) == [true, true, true, false, true])
    }
}
