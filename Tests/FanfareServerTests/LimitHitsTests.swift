import Broker
import Logging
import Metrics
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits in the log") struct LimitHitsTests {
    @Test func eachLimitIsLoggedOnceAMinute() {
        let lines = LogLines()
        let hits = LimitHits(NOOPMetricsHandler.instance, log: lines.logger())
        for _ in 0..<1_000 { hits.record(.connections) }
        hits.record(.members, count: 7)
        #expect(
            lines.all == [
                "notice limit reached: the client is closed with 4100 (none: as many as descriptors) "
                    + "key=limits.connections_max limit=connections times=1",
                "notice limit reached: pusher:subscription_error; counts as a faulty message "
                    + "key=apps.N.members_max limit=members times=7",
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
