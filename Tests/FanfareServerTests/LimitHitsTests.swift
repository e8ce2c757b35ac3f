import Broker
import Logging
import Metrics
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Observability

@Suite("Limits in the log") struct LimitHitsTests {
    @Test func eachLimitIsLoggedOnceAMinute() {
        let lines = LogLines()
        let hits = LimitHits(NOOPMetricsHandler.instance, log: lines.logger())
        for _ in 0..<1_000 { hits.record(.connections) }
        hits.record(.members, of: AppID("1"), count: 7)
        hits.record(.members, of: AppID("2"))
        hits.record(.queuedBytesTotal, of: AppID("1"))
        #expect(hits.counts(of: .members) == [AppID("1"): 7, AppID("2"): 1])
        #expect(hits.counts(of: .queuedBytesTotal).isEmpty)
        #expect(
            lines.all == [
                "notice limit reached: the client is closed with 4100 (none: the descriptor limit) "
                    + "key=limits.connections_max limit=connections times=1",
                "notice limit reached: pusher:subscription_error; counts as a faulty message "
                    + "app=1 key=apps.N.members_max limit=members times=7",
                "notice limit reached: the same for all apps (none: a quarter of the memory) "
                    + "key=limits.queued_bytes_total_max limit=queued_bytes_total times=1",
            ]
        )
    }

    @Test func anotherConsequenceReplacesTheRules() {
        let lines = LogLines()
        let hits = LimitHits(NOOPMetricsHandler.instance, log: lines.logger())
        for _ in 0..<100 {
            let consequence = "no descriptor is left"
            hits.observe(.limitMet(.connections, count: 1, consequence: consequence), of: nil)
        }
        #expect(
            lines.all == [
                "notice limit reached: no descriptor is left "
                    + "key=limits.connections_max limit=connections times=1"
            ]
        )
    }
}
