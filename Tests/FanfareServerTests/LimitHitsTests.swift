import Broker
import Logging
import Metrics
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareServer

/// Records log messages.
private final class Lines: Sendable {
    private let kept = Mutex<[String]>([])

    var all: [String] { kept.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(lines: self) }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }
            lines.kept.withLock {
                $0.append("\(event.level) \(event.message) \(fields.joined(separator: " "))")
            }
        }
    }
}

@Suite("Limits in the log") struct LimitHitsTests {
    @Test func eachLimitIsLoggedOnceAMinute() {
        let lines = Lines()
        let hits = LimitHits(NOOPMetricsHandler.instance, log: lines.logger)
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
        let lines = Lines()
        let hits = LimitHits(NOOPMetricsHandler.instance, log: lines.logger)
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
