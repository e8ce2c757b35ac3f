import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis

// Replays of messages that clients have missed and that are not in this node's memory.
extension ClusterHome {
    /// The maximum number of attempts to read what a client has missed; after these it is notified of a gap.
    private static var replayAttemptsMax: Int { 5 }

    /// The maximum number of messages of a channel that one call reads, so that even the longest do not end the
    /// connection.
    func countMax(of address: ChannelAddress) -> Int {
        let longest = context.registry.apps[address.app]?.limits.texts.longestData.max ?? 1
        return min(256, max(1, ReadQueue.bytesMax / longest))
    }

    /// Reads the next messages of a channel from Redis, between two IDs in the syntax of `XRANGE`.
    ///
    /// `purpose` returns the purpose of the call for a maximum number of messages. Returns whether there is a
    /// connection. When it ends before the reply, the purpose is abandoned.
    @discardableResult
    func readMessages(
        of remote: RemoteChannel,
        from first: String,
        to last: String,
        as purpose: (_ countMax: Int) -> ClusterCall
    ) -> Bool {
        let countMax = countMax(of: remote.address)
        let key = "\(calls(of: remote).keys.messages(remote.channel))"
        let command = ["XRANGE", key, first, last, "COUNT", "\(countMax)"]
        return read(command, in: remote.partition, as: purpose(countMax))
    }

    /// Requests from Redis what a subscription has missed, if that is no longer in memory.
    func readMissing(_ subscription: PendingSubscription, on remote: RemoteChannel) -> Bool {
        let address = remote.address
        guard let position = remote.position, subscription.attempts < Self.replayAttemptsMax,
            let app = context.registry.apps[address.app], app.recovery.isEnabled,
            let index = channels.state.streams.index(of: address)
        else { return false }
        if readFormer(subscription, on: remote, app) { return true }
        var request = subscription.position
        if let start = subscription.former?.missed?.start {
            request?.position = start
        } else if let position = request?.position {
            request?.position = app.position(issuedAs: position, on: address.name)
        }
        let missing = channels.state.streams[index].missingMessages(for: request, app.recovery)
        guard let missing else { return false }
        var subscription = subscription
        subscription.attempts += 1
        let last = StreamPosition(stream: position.stream, serial: missing.serials.upperBound)
        subscription.missed = ([], 0, last)
        read(subscription, on: remote, from: missing.serials.lowerBound, to: last)
        return true
    }

    private func read(
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        from serial: UInt64,
        to last: StreamPosition
    ) {
        lastReplay += 1
        let isSent = readMessages(
            of: remote,
            from: "\(last.stream)-\(serial)",
            to: last.description
        ) { .replay(number: lastReplay, countMax: $0) }
        wait(subscription, on: remote, for: isSent ? lastReplay : nil)
    }

    /// Makes a subscription wait for a read; without one, it waits like those for which Redis has not answered.
    func wait(_ subscription: PendingSubscription, on remote: RemoteChannel, for replay: UInt64?) {
        var subscription = subscription
        subscription.replay = replay
        guard let replay else { return remote.waiting.append(subscription) }
        replays[replay] = (remote, subscription.request.socketID)
        remote.replaying.append(subscription)
    }

    /// Ends the wait for a read; `nil` if the client has left meanwhile.
    func takeReplay(_ number: UInt64) -> (RemoteChannel, PendingSubscription)? {
        guard let (remote, id) = replays.removeValue(forKey: number),
            let subscription = remote.replaying.remove(id)
        else { return nil }
        return (remote, subscription)
    }

    /// Continues a subscription with what it has missed.
    func readReplay(_ reply: borrowing RESPView, _ number: UInt64, countMax: Int) {
        guard let (remote, pending) = takeReplay(number) else { return }
        guard var missed = pending.missed else {
            if let former = pending.former {
                readFormer(reply, former, pending, on: remote, countMax: countMax)
            }
            return
        }
        var subscription = pending
        let app = context.registry.apps[remote.address.app]
        let page = storedMessages(reply, from: store(of: remote))
        missed.messages += page.messages
        missed.byteCount += page.messages.reduce(0) { $0 + $1.frame.count }
        subscription.missed = missed
        let isTooMuch = missed.byteCount > app?.recovery.replayBytesMax ?? 0
        if !isTooMuch, reply.count == countMax, let serial = page.lastSerial,
            serial < missed.last.serial
        {
            return read(subscription, on: remote, from: serial + 1, to: missed.last)
        }
        // A stream that has ended meanwhile cannot be replayed, nor a part of what was missed.
        let isUsable = !isTooMuch && remote.position?.stream == missed.last.stream
        var messages = isUsable ? missed.messages.withoutHole : []
        if let app, let index = channels.state.streams.index(of: remote.address) {
            let stream = channels.state.streams[index]
            var oldest = keptSince(at: remote.address)
            if let ageMax = stream.missingMessages(for: subscription.position, app.recovery)?.ageMax
            {
                oldest = max(oldest, context.reactor.unixMilliseconds - Int64(ageMax) * 1_000)
            }
            messages.removeAll(olderThan: oldest)
            if !stream.isContinuous(behind: ArchivedMessages(messages)) {
                if readMissing(subscription, on: remote) { return }
                // The client is notified of a gap.
                messages = []
            }
        }
        resume(subscription, on: remote, behind: messages)
    }

    /// The messages of a reply to `XRANGE`; damaged entries are counted, and leave a gap between the others.
    func storedMessages(
        _ reply: borrowing RESPView,
        from store: ClusterStore
    ) -> (messages: [StoredMessage], lastSerial: UInt64?, isDamaged: Bool) {
        var messages: [StoredMessage] = []
        var lastSerial: UInt64?
        var isDamaged = false
        reply.forEach { entry in
            let position = StreamPosition(entry[0])
            lastSerial = position?.serial ?? lastSerial
            if let message = storedMessage(entry) {
                messages.append(message)
            } else if position?.serial != 0 {
                // Position 0 is the beginning of a stream.
                isDamaged = true
                refused("an entry of a stream", by: store)
            }
        }
        return (messages, lastSerial, isDamaged)
    }

    /// Counts a damaged entry of a channel's stream.
    func refusedEntry(on remote: RemoteChannel) {
        refused("an entry of a stream", by: store(of: remote))
    }

    /// The message of an entry; `nil` for one of another kind.
    func storedMessage(_ entry: borrowing RESPView) -> StoredMessage? {
        guard let position = StreamPosition(entry[0]),
            let announcement = announcement(entry, at: position),
            let envelope = announcement.content.envelope
        else { return nil }
        return StoredMessage(
            serial: position.serial,
            time: announcement.time,
            except: announcement.except.flatMap { SocketID($0) },
            frame: EventFrame(envelope: envelope, serial: position.serial).bytes
        )
    }

    /// Reads an entry of a stream, in the form of its announcement.
    func announcement(
        _ entry: borrowing RESPView,
        at position: StreamPosition
    ) -> ChannelAnnouncement? {
        var bytes: [UInt8] = []
        bytes.append(decimal: position.serial)
        bytes.append(UInt8(ascii: " "))
        bytes += entry[1][1].copy()
        return ChannelAnnouncement(bytes)
    }

    /// The cached event that precedes a replay; `nil` if there is none, or if it is a part of the replay.
    func cachedOpening(at address: ChannelAddress, ahead replay: Replay?) -> Grant.CachedOpening? {
        guard let cached = remotes[address]?.cached else { return nil }
        let position = cached.position.flatMap { ChannelPosition($0) }
        return replay?.contains(position) == true ? .nothing : .event(cached.frame)
    }

    /// Called with an event of a channel among this node's own subscribers, which may not apply to all nodes.
    ///
    /// - Returns: Whether its observers are notified; if not, Redis decides.
    func reports(_ event: ChannelEvent, at address: ChannelAddress) -> Bool {
        switch event {
        case .memberRemoved(let user):
            if let remote = remotes[address] { leaveIfAbsent(user, remote) }
            return false
        case .occupied, .vacated, .memberAdded, .subscriptionCount: return false
        case .cacheMiss: return remotes[address]?.cached == nil
        default: return true
        }
    }
}

extension [StoredMessage] {
    /// The messages after the last one that is missing between two others.
    fileprivate var withoutHole: [StoredMessage] {
        let hole = indices.dropFirst().last { self[$0].serial != self[$0 - 1].serial + 1 }
        return hole.map { Array(self[$0...]) } ?? self
    }
}

extension ChannelAnnouncement.Content {
    /// The event as its subscribers get it, except for its number; `nil` for anything else.
    var envelope: [UInt8]? {
        switch self {
        case .event(let envelope), .clientEvent(let envelope): envelope
        case .memberAdded, .memberRemoved, .count, .stream: nil
        }
    }
}
