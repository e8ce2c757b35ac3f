import Primitives
import PusherProtocol

extension Streams {
    /// The state of one app.
    struct AppState {
        /// The index in ``Streams/apps``.
        private let index: Int
        var byteCount = 0
        /// The channels without subscribers, in the order in which they became vacant; some may have subscribers again.
        private var vacant = Queue<(stream: Int, since: Int64)>()
        /// Those on which nothing was published; they are forgotten first, so that they evict no others.
        private var blank = Queue<(stream: Int, since: Int64)>()
        var vacantCount = 0
        /// The number of opened streams, in all and by the address of the client.
        private(set) var openedCount = 0
        private var openedByAddress: [UInt32: Int] = [:]
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
            if streams[index].isBlank {
                blank.append((index, now))
            } else {
                vacant.append((index, now))
            }
            vacantCount += 1
            // A channel that repeatedly becomes vacant must not grow the list.
            guard vacant.count + blank.count > 2 * vacantCount + 64 else { return }
            vacant = vacant.filter { streams[$0.stream].vacantSince == $0.since }
            blank = blank.filter { streams[$0.stream].vacantSince == $0.since }
        }

        /// The stream that became vacant first, among the blank ones or the others, unless it has subscribers again.
        func firstVacant(isBlank: Bool) -> (stream: Int, since: Int64)? {
            isBlank ? blank.first : vacant.first
        }

        /// The streams of vacant channels on which nothing was published, the last one first; some may have changed
        /// since.
        var blankStreams: some Sequence<(stream: Int, since: Int64)> { blank.elements.reversed() }

        mutating func dropFirstVacant(isBlank: Bool) {
            if isBlank { blank.removeFirst() } else { vacant.removeFirst() }
        }

        /// Called when something was published on the first of the blank streams.
        mutating func firstBlankGrew() { vacant.append(blank.removeFirst()) }
    }
}

// MARK: - Opened streams

extension Streams.AppState {
    /// Whether a client from an address may open another stream; the digest is 0 if the address is not known.
    ///
    /// Once half of `countMax` streams are open, one address may have at most a quarter.
    func mayOpen(from addressDigest: UInt32, atMost countMax: Int) -> Bool {
        guard openedCount < countMax else { return false }
        guard addressDigest != 0, openedCount >= countMax / 2 else { return true }
        return openedByAddress[addressDigest, default: 0] < max(1, countMax / 4)
    }

    mutating func opened(from addressDigest: UInt32) {
        openedCount += 1
        if addressDigest != 0 { openedByAddress[addressDigest, default: 0] += 1 }
    }

    mutating func openedEnded(from addressDigest: UInt32) {
        openedCount -= 1
        guard addressDigest != 0, let count = openedByAddress[addressDigest] else { return }
        openedByAddress[addressDigest] = count > 1 ? count - 1 : nil
    }
}

extension Streams {
    /// Whether a client may begin the stream of a channel, or be the first subscriber of one on which nothing was
    /// published.
    ///
    /// Only public channels count, because they need no signature: anyone who knows the app's key can subscribe to any
    /// number of them.
    ///
    /// Returns false if ``Limit/openedStreams`` is reached. For `addressDigest` see ``SessionClaim/addressDigest``.
    public func mayOpen(
        _ address: ChannelAddress,
        _ settings: RecoverySettings,
        from addressDigest: UInt32
    ) -> Bool {
        guard address.name.kind.isOpenToAll, let app = appIndex(of: address.app) else {
            return true
        }
        if let index = index(of: address), !self[index].isBlank || !self[index].isVacant {
            return true
        }
        let countMax = max(1, settings.openedStreamsMax / shardCount)
        return apps[app].mayOpen(from: addressDigest, atMost: countMax)
    }

    /// The stored streams without messages that a stop would lose, at most `countMax`: those with subscribers first,
    /// then those that became vacant last.
    public func blankStored(upTo countMax: Int) -> [Int] {
        var found: [Int] = []
        for index in streams.indices where found.count < countMax && streams[index].isOpened {
            if streams[index].isStored, !isDerived(index) { found.append(index) }
        }
        for app in apps {
            for (index, since) in app.blankStreams where found.count < countMax {
                guard streams[index].isBlank, streams[index].vacantSince == since else { continue }
                if streams[index].isStored, !isDerived(index) { found.append(index) }
            }
        }
        return found
    }

    /// Counts the stream of a channel that has subscribers, if nothing was published on it.
    mutating func countOpened(_ index: Int, from addressDigest: UInt32) {
        guard self[index].isBlank, !self[index].isOpened, self[index].address.name.kind.isOpenToAll
        else { return }
        (self[index].isOpened, self[index].opener) = (true, addressDigest)
        apps[self[index].sharedRule.app].opened(from: addressDigest)
    }

    /// Called when something is published on a stream, or its channel has lost its last subscriber.
    mutating func endOpened(_ index: Int) {
        guard self[index].isOpened else { return }
        self[index].isOpened = false
        apps[self[index].sharedRule.app].openedEnded(from: self[index].opener)
    }
}
