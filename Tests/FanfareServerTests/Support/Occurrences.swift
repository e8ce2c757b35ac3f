import Broker
import PusherProtocol
import Synchronization

@testable import FanfareServer

/// An observer of channels that records events, one line each.
final class Occurrences: BrokerObserver {
    private let lines = Mutex<[String]>([])

    /// The recorded events, in order.
    var recorded: [String] { lines.withLock { $0 } }

    /// The recorded events of one channel.
    func recorded(of channel: String) -> [String] {
        recorded.compactMap {
            $0.hasPrefix(channel + " ") ? String($0.dropFirst(channel.count + 1)) : nil
        }
    }

    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        [.occupancy, .members, .clientEvents, .cacheMisses, .subscriptionCounts]
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .channel(let event, let address) = event else { return }
        let text =
            switch event {
            case .occupied: "occupied"
            case .vacated: "vacated"
            case .memberAdded(let user): "+\(user)"
            case .memberRemoved(let user): "-\(user)"
            case .clientEvent(let event, let sender, let user):
                "\(event.name) \(event.data ?? "without data") of \(sender) \(user?.text ?? "no user")"
            case .cacheMiss: "miss"
            case .cacheFilled: "filled"
            case .subscriptionCount(let count): "\(count)"
            case .subscribed, .unsubscribed, .published: "not asked for"
            }
        lines.withLock { $0.append("\(address.name.text) \(text)") }
    }
}
