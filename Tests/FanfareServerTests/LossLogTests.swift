import Broker
import Logging
import Net
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Observability
@testable import Shard

@Suite("The log of what clients have missed") struct LossLogTests {
    @Test("A gap is logged with channel, connection, reason and number")
    func gaps() throws {
        let lines = LogLines()
        let log = LossLog(lines.logger(from: .info))
        let app = AppID("1")
        #expect(log.observedKinds(of: app) == [.gaps, .droppedDeliveries])
        #expect(log.observedKinds(of: nil) == [])
        let address = ChannelAddress(app: app, name: try ChannelName("news"))
        let gap = RecoveryGap(.truncated, missed: 7)
        log.observe(.gapTold(SocketID(1, 2), address, gap), of: app)
        log.observe(.deliveriesDropped(SocketID(3, 4), byteCount: 99), of: app)
        #expect(
            lines.all == [
                "info client notified of a gap app=1 channel=news missed=7 reason=truncated socket=1.2",
                "info queue of a slow client dropped app=1 bytes=99 socket=3.4",
            ]
        )
    }

    @Test("Ten lines a second, and the number of the others")
    func pace() {
        let pace = LogPace()
        let first = MonotonicTime(nanoseconds: 1_000_000_000)
        let second = MonotonicTime(nanoseconds: 2_000_000_000)
        for _ in 0..<10 { #expect(pace.takeLine(at: first) == 0) }
        for _ in 0..<5 { #expect(pace.takeLine(at: first) == nil) }
        #expect(pace.takeLine(at: second) == 5)
        #expect(pace.takeLine(at: second) == 0)
    }

    @Test("A log that shows none costs nothing")
    func level() {
        var logger = Logger(label: "t") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .error
        #expect(LossLog(logger).observedKinds(of: AppID("1")) == [])
    }
}
