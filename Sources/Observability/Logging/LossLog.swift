import Broker
package import Logging
import PusherProtocol
import Shard

/// Logs what clients have missed: gaps that they were told of, and queues that were dropped.
///
/// At most ten lines a second; the next line has the number of those that were left out.
package final class LossLog: BrokerObserver {
    private let log: Logger
    private let pace = LogPace()

    package init(_ log: Logger) { self.log = log }

    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        app == nil || log.logLevel > .info ? [] : [.gaps, .droppedDeliveries]
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard let omittedCount = pace.takeLine() else { return }
        var metadata: Logger.Metadata = app.map { ["app": "\($0)"] } ?? [:]
        if omittedCount > 0 { metadata["omitted"] = "\(omittedCount)" }
        switch event {
        case .gapTold(let socketID, let address, let gap):
            metadata["socket"] = "\(socketID)"
            metadata["channel"] = "\(address.name.text)"
            metadata["reason"] = "\(gap.reason.rawValue)"
            if let missed = gap.missed { metadata["missed"] = "\(missed)" }
            log.info("client notified of a gap", metadata: metadata)
        case .deliveriesDropped(let socketID, let byteCount):
            metadata["socket"] = "\(socketID)"
            metadata["bytes"] = "\(byteCount)"
            log.info("queue of a slow client dropped", metadata: metadata)
        case .connected, .admitted, .disconnected, .signedIn, .channel, .limitMet, .refused,
            .frame:
            break
        }
    }
}
