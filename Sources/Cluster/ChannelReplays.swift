import Broker
import Net
import PusherProtocol
import RESP
import Redis
import Shard

/// Replays of messages that clients have missed and that are not in this node's memory.
final class ChannelReplays {
    // The channels own this object.
    unowned let shared: SharedChannels
    /// The channel and the connection of each read of messages that are no longer in memory, by its number.
    private var replays: [UInt64: (RemoteChannel, SocketID)] = [:]
    private var lastReplay: UInt64 = 0

    init(_ shared: SharedChannels) { self.shared = shared }

    var remotes: RemoteChannels { shared.remotes }
    var service: ChannelService { shared.service }
    var context: ShardContext { shared.context }

    /// The maximum number of attempts to read what a client has missed; after these it is notified of a gap.
    private static var replayAttemptsMax: Int { 5 }

    /// Requests from Redis what a subscription has missed, if that is no longer in memory.
    ///
    /// - Returns: Whether the subscription continues later.
    func begin(_ subscription: PendingSubscription, on remote: RemoteChannel) -> Bool {
        let address = remote.address
        guard let position = remote.position, subscription.attempts < Self.replayAttemptsMax,
            let app = context.registry.apps[address.app], app.recovery.isEnabled,
            let index = service.state.streams.index(of: address)
        else { return false }
        if readFormer(subscription, on: remote, app) { return true }
        var request = subscription.position
        if let start = subscription.former?.missed?.start {
            request?.position = start
        } else if let position = request?.position {
            request?.position = app.position(issuedAs: position, on: address.name)
        }
        let missing = service.state.streams[index].missingMessages(for: request, app.recovery)
        guard let missing else { return false }
        var subscription = subscription
        subscription.attempts += 1
        let last = StreamPosition(stream: position.stream, serial: missing.serials.upperBound)
        subscription.missed = ([], 0, last)
        let first = "\(last.stream)-\(missing.serials.lowerBound)"
        read(subscription, on: remote, from: first, to: last)
        return true
    }

    /// Reads messages of a channel for a subscription, from an ID in the syntax of `XRANGE`.
    func read(
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        from first: String,
        to last: StreamPosition
    ) {
        lastReplay += 1
        let (number, countMax) = (lastReplay, shared.rules.readCountMax(of: remote.address))
        let call = RepeatableCall { [self] reply in
            receive(reply, number, countMax: countMax)
        } giveUp: { [self] in
            abandon(number)
        }
        let isSent = remotes.readMessages(
            of: remote,
            from: first,
            to: last.description,
            countMax: countMax,
            as: call
        )
        wait(subscription, on: remote, for: isSent ? number : nil)
    }

    /// Makes a subscription wait for a read; without one, it waits like those for which Redis has not answered.
    private func wait(
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        for replay: UInt64?
    ) {
        var subscription = subscription
        subscription.replay = replay
        guard let replay else { return remote.waiting.append(subscription) }
        replays[replay] = (remote, subscription.request.socketID)
        remote.replaying.append(subscription)
    }

    /// Ends the wait for a read; `nil` if the client has left meanwhile.
    private func takeReplay(_ number: UInt64) -> (RemoteChannel, PendingSubscription)? {
        guard let (remote, id) = replays.removeValue(forKey: number),
            let subscription = remote.replaying.remove(id)
        else { return nil }
        return (remote, subscription)
    }

    /// Forgets a read whose client has left.
    func cancel(_ number: UInt64) { replays[number] = nil }

    /// Called when a read has no answer: its subscription waits like those for which Redis has not answered.
    private func abandon(_ number: UInt64) {
        guard let (remote, subscription) = takeReplay(number) else { return }
        wait(subscription, on: remote, for: nil)
    }

    /// Continues a subscription with what it has missed.
    private func receive(_ reply: borrowing RESPView, _ number: UInt64, countMax: Int) {
        guard let (remote, pending) = takeReplay(number) else { return }
        guard var missed = pending.missed else {
            if let former = pending.former {
                readFormer(reply, former, pending, on: remote, countMax: countMax)
            }
            return
        }
        var subscription = pending
        let app = context.registry.apps[remote.address.app]
        let store = remotes.store(of: remote)
        let page = StoredEntries(reply, from: store, of: shared.partitions)
        missed.messages += page.messages
        missed.byteCount += page.messages.reduce(0) { $0 + $1.envelope.byteCount }
        subscription.missed = missed
        let isTooMuch = missed.byteCount > app?.recovery.replayBytesMax ?? 0
        if !isTooMuch, reply.count == countMax, let serial = page.lastSerial,
            serial < missed.last.serial
        {
            let last = missed.last
            return read(subscription, on: remote, from: "\(last.stream)-\(serial + 1)", to: last)
        }
        // A stream that has ended meanwhile cannot be replayed, nor a part of what was missed.
        let isUsable = !isTooMuch && remote.position?.stream == missed.last.stream
        var messages = isUsable ? missed.messages.withoutHole : []
        if let app, let index = service.state.streams.index(of: remote.address) {
            let stream = service.state.streams[index]
            var oldest = shared.rules.keptSince(at: remote.address)
            if let ageMax = stream.missingMessages(for: subscription.position, app.recovery)?.ageMax
            {
                oldest = max(oldest, context.reactor.unixMilliseconds - Int64(ageMax) * 1_000)
            }
            messages.removeAll(olderThan: oldest)
            if !stream.isContinuous(behind: ArchivedMessages(messages)) {
                if begin(subscription, on: remote) { return }
                // The client is notified of a gap.
                messages = []
            }
        }
        resume(subscription, on: remote, behind: messages)
    }

    /// Grants a subscription for which everything is read.
    func resume(
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        behind messages: [StoredMessage] = []
    ) {
        shared.admit(
            subscription,
            to: remote.address,
            behind: ArchivedMessages(messages, behind: subscription.former?.missed)
        )
    }
}

// Positions in streams that a failover of Redis has sealed: if nothing was lost, the present stream follows the rest of
// them.
extension ChannelReplays {
    /// Reads the messages of sealed streams that a subscription has missed.
    ///
    /// - Returns: Whether its position is in another stream than the present one, so that the subscription continues
    ///   later.
    func readFormer(
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        _ app: App
    ) -> Bool {
        guard subscription.former == nil, let current = remote.position,
            let issued = subscription.position?.position,
            let known = StreamPosition(
                app.position(issuedAs: issued, on: remote.address.name)
            ),
            known.stream > 0, known.stream < current.stream,
            let reading = FormerReading(
                behind: known,
                upTo: StreamPosition(stream: current.stream, serial: 0)
            )
        else { return false }
        var subscription = subscription
        subscription.attempts += 1
        subscription.former = reading
        read(subscription, on: remote, from: "(\(known)", to: reading.end)
        return true
    }

    /// Continues a subscription for which sealed streams were read.
    func readFormer(
        _ reply: borrowing RESPView,
        _ reading: FormerReading,
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        countMax: Int
    ) {
        var (reading, subscription) = (reading, subscription)
        let app = context.registry.apps[remote.address.app]
        if RedisError(reply) != nil { reading.hasGap = true }
        reply.forEach { entry in
            guard !reading.hasGap else { return }
            take(entry, &reading, on: remote)
        }
        if reading.count > app?.recovery.replayMessagesMax ?? 0
            || reading.byteCount > app?.recovery.replayBytesMax ?? 0
        {
            reading.hasGap = true
        }
        subscription.former = reading
        if !reading.hasGap, !reading.isComplete, reply.count == countMax {
            let first = "(\(reading.continuation.position)"
            return read(subscription, on: remote, from: first, to: reading.end)
        }
        guard remote.position?.stream == reading.end.stream else {
            // Another stream has begun meanwhile.
            subscription.former = nil
            if let app, readFormer(subscription, on: remote, app) { return }
            return resume(subscription, on: remote)
        }
        if !begin(subscription, on: remote) { resume(subscription, on: remote) }
    }

    private func take(
        _ entry: borrowing RESPView,
        _ reading: inout FormerReading,
        on remote: RemoteChannel
    ) {
        switch reading.continuation.advance(to: entry) {
        case .gap:
            if StreamPosition(entry[0]) == nil { remotes.refusedEntry(on: remote) }
            reading.hasGap = true
        case .stream:
            guard !reading.isComplete, let start = ChannelPosition(reading.continuation.position)
            else { return }
            reading.streams.streams.append(FormerStreams.Stream(behind: start))
        case .message:
            guard let message = StoredMessage(entry) else {
                remotes.refusedEntry(on: remote)
                reading.hasGap = true
                return
            }
            reading.count += 1
            reading.byteCount += message.envelope.byteCount
            reading.streams.streams[reading.streams.streams.count - 1].messages.append(message)
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
