import Broker
import Logging
import Net
import PusherProtocol
import Synchronization

/// Logs what clients have missed: gaps that they were told of, and queues that were dropped.
///
/// At most ten lines a second: after a restart, thousands of clients may be told of a gap at once. The next line has the
/// number of those that were left out.
final class LossLog: BrokerObserver {
    private struct Pace {
        var second: Int64 = -1
        var lineCount = 0
        var omittedCount = 0
    }

    private static let linesPerSecondMax = 10

    private let log: Logger
    private let pace = Mutex(Pace())

    init(_ log: Logger) { self.log = log }

    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        app == nil || log.logLevel > .info ? [] : [.gaps, .droppedDeliveries]
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard let omittedCount = takeLine(at: MonotonicTime.current.nanoseconds / 1_000_000_000)
        else { return }
        var metadata: Logger.Metadata = app.map { ["app": "\($0)"] } ?? [:]
        if omittedCount > 0 { metadata["omitted"] = "\(omittedCount)" }
        switch event {
        case .gapTold(let socketID, let address, let gap):
            metadata["socket"] = "\(socketID)"
            metadata["channel"] = "\(address.name.text)"
            metadata["reason"] = "\(gap.reason.rawValue)"
            if let missed = gap.missed { metadata["missed"] = "\(missed)" }
            log.info("client told of a gap", metadata: metadata)
        case .deliveriesDropped(let socketID, let byteCount):
            metadata["socket"] = "\(socketID)"
            metadata["bytes"] = "\(byteCount)"
            log.info("queue of a slow client dropped", metadata: metadata)
        case .connected, .disconnected, .channel, .limitMet: break
        }
    }

    /// Returns how many lines were left out since the last one; `nil` if this one is left out, too.
    func takeLine(at second: Int64) -> Int? {
        pace.withLock { pace in
            if pace.second != second { (pace.second, pace.lineCount) = (second, 0) }
            guard pace.lineCount < Self.linesPerSecondMax else {
                pace.omittedCount += 1
                return nil
            }
            pace.lineCount += 1
            return exchange(&pace.omittedCount, with: 0)
        }
    }
}
