import Broker
import Logging
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareServer

/// A log handler that keeps its lines.
private struct Lines: LogHandler {
    final class Storage: Sendable {
        let lines = Mutex<[String]>([])
    }

    let storage: Storage
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
            .map { " \($0.key)=\($0.value)" }.joined()
        storage.lines.withLock { $0.append("\(event.message)" + fields) }
    }
}

@Suite("The log of what clients have missed") struct LossLogTests {
    @Test("A gap is logged with channel, connection, reason and number")
    func gaps() throws {
        let storage = Lines.Storage()
        let log = LossLog(Logger(label: "t") { _ in Lines(storage: storage) })
        let app = AppID("1")
        #expect(log.observedKinds(of: app) == [.gaps, .droppedDeliveries])
        #expect(log.observedKinds(of: nil) == [])
        let address = ChannelAddress(app: app, name: try ChannelName("news"))
        let gap = RecoveryGap(.truncated, missed: 7)
        log.observe(.gapTold(SocketID(1, 2), address, gap), of: app)
        log.observe(.deliveriesDropped(SocketID(3, 4), byteCount: 99), of: app)
        #expect(
            storage.lines.withLock { $0 } == [
                "client told of a gap app=1 channel=news missed=7 reason=truncated socket=1.2",
                "queue of a slow client dropped app=1 bytes=99 socket=3.4",
            ]
        )
    }

    @Test("Ten lines a second, and the number of the others")
    func pace() {
        let log = LossLog(Logger(label: "t") { _ in SwiftLogNoOpLogHandler() })
        for _ in 0..<10 { #expect(log.takeLine(at: 1) == 0) }
        for _ in 0..<5 { #expect(log.takeLine(at: 1) == nil) }
        #expect(log.takeLine(at: 2) == 5)
        #expect(log.takeLine(at: 2) == 0)
    }

    @Test("A log that shows none costs nothing")
    func level() {
        var logger = Logger(label: "t") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .error
        #expect(LossLog(logger).observedKinds(of: AppID("1")) == [])
    }
}
