import PusherProtocol

extension Streams {
    /// The state of one app.
    struct AppState {
        /// The index in ``Streams/apps``.
        private let index: Int
        var byteCount = 0
        /// The channels without subscribers, in the order in which they became vacant; some have subscribers again.
        private var vacant: [(stream: Int, since: Int64)] = []
        private var vacantHead = 0
        var vacantCount = 0
        /// The time up to which a budget has dropped the app's messages.
        var droppedUntil: Int64?
        var settings: RecoverySettings {
            didSet {
                guard settings != oldValue else { return }
                rules = []
                retainedBytesMax = settings.retainedBytesMax
            }
        }
        /// The maximum size of the app's kept messages, in bytes; on all shards together.
        private(set) var retainedBytesMax: Int?
        /// The rules of the streams: those with one rule share a copy.
        private var rules: [SharedRule] = []

        init(_ settings: RecoverySettings, at index: Int) {
            self.settings = settings
            self.index = index
            retainedBytesMax = settings.retainedBytesMax
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
            guard vacant.count - vacantHead > 2 * vacantCount + 64 else { return }
            vacant = vacant[vacantHead...].filter { streams[$0.stream].vacantSince == $0.since }
            vacantHead = 0
        }

        /// The stream that became vacant first, unless it has subscribers again.
        var firstVacant: (stream: Int, since: Int64)? {
            vacantHead < vacant.count ? vacant[vacantHead] : nil
        }

        mutating func dropFirstVacant() {
            vacantHead += 1
            guard vacantHead >= 32, vacantHead * 2 >= vacant.count else { return }
            vacant.removeFirst(vacantHead)
            vacantHead = 0
        }
    }
}

/// A rule that the streams of many channels refer to, and their app with it.
final class SharedRule: Sendable {
    /// What a channel keeps in memory.
    struct Ring {
        /// The maximum number of messages.
        let messagesMax: Int
        /// The maximum size of the messages, in bytes.
        let bytesMax: Int
        /// How long a message is kept, in seconds.
        let ageMax: Int
    }

    let rule: RecoveryRule
    /// What is kept in memory, whatever the archive keeps.
    let ring: Ring
    /// The index of the app in ``Streams/apps``.
    let app: Int

    init(_ rule: RecoveryRule, of app: Int) {
        self.rule = rule
        self.app = app
        let front = rule.store == .archive ? RecoveryRule() : rule
        ring = Ring(
            messagesMax: min(rule.messagesMax, front.messagesMax),
            bytesMax: min(rule.bytesMax, front.bytesMax),
            ageMax: min(rule.ageMax, front.ageMax)
        )
    }
}

extension Streams {
    /// The streams of one app whose messages are kept as long.
    struct QueueKey: Hashable {
        let app: Int
        let ageMax: Int

        init(_ rule: SharedRule) {
            app = rule.app
            ageMax = rule.ring.ageMax
        }
    }
}
