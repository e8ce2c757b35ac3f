import Primitives
import PusherProtocol

extension Streams {
    /// The state of one app.
    struct AppState {
        /// The index in ``Streams/apps``.
        private let index: Int
        var byteCount = 0
        /// The channels without subscribers, in the order in which they became vacant; some have subscribers again.
        private var vacant = Queue<(stream: Int, since: Int64)>()
        var vacantCount = 0
        /// The time up to which a budget has dropped the app's messages.
        var droppedUntil: Int64?
        var settings: RecoverySettings {
            didSet { if settings != oldValue { rules = [] } }
        }
        /// The rules of the streams: those with one rule share a copy.
        private var rules: [SharedRule] = []

        init(_ settings: RecoverySettings, at index: Int) {
            self.settings = settings
            self.index = index
        }

        mutating func rule(of channel: ChannelName) -> SharedRule {
            let rule = settings.rule(of: channel)
            if let shared = rules.first(where: { $0.rule == rule }) { return shared }
            rules.append(SharedRule(rule, of: index))
            return rules[rules.count - 1]
        }

        /// Adds a stream to those of vacant channels.
        mutating func becameVacant(_ index: Int, at now: Int64, in streams: [ChannelStream]) {
            vacant.append((index, now))
            vacantCount += 1
            // A channel that is left again and again must not grow the list.
            guard vacant.count > 2 * vacantCount + 64 else { return }
            vacant = Queue(vacant.elements.filter { streams[$0.stream].vacantSince == $0.since })
        }

        /// The stream that became vacant first, unless it has subscribers again.
        var firstVacant: (stream: Int, since: Int64)? { vacant.first }

        mutating func dropFirstVacant() { vacant.removeFirst() }
    }
}
