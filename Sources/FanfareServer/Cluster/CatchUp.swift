import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Behind a loss of the connection: what was published meanwhile is read, or its subscribers are told.
extension ClusterHome {
    /// The maximum number of channels that find out at a time what they have missed.
    private static var catchingUpMax: Int { 256 }

    /// Called when the connection is lost: nothing is received any more.
    func fallBehind(in store: ClusterStore) {
        for remote in remotes.values where self.store(of: remote) === store {
            remote.fellBehind()
            remote.isSubscribed = false
            remote.attaching = nil
            remote.countedSubscriptions = 0
        }
        (store.behind, store.catchingUpCount) = ([], 0)
    }

    /// Attaches the node to all its channels of a store again.
    func catchUpAll(in store: ClusterStore) {
        var vacant: [RemoteChannel] = []
        for remote in remotes.values where self.store(of: remote) === store {
            let hasSubscribers = channels.table[remote.address]?.home.isVacant == false
            if hasSubscribers || !remote.waiting.isEmpty {
                store.behind.append(remote)
            } else {
                vacant.append(remote)
            }
        }
        for remote in vacant { forget(remote) }
        catchUpNext(in: store)
    }

    func catchUpNext(in store: ClusterStore) {
        while store.isOpen, store.catchingUpCount < Self.catchingUpMax,
            let remote = store.behind.popLast()
        {
            guard remotes[remote.address] === remote, remote.attaching == nil else { continue }
            if remote.isBehind {
                store.catchingUpCount += 1
                var interests: PartitionCalls.Interests = remote.position == nil ? [] : .stream
                if remote.address.name.kind.isPresence { interests.insert(.members) }
                if remote.address.name.kind.isCache { interests.insert(.cachedEvent) }
                sendAttach(remote, interests)
            } else {
                attach(remote)
            }
        }
    }

    /// Called when a channel has found out what it has missed.
    func caughtUp(_ remote: RemoteChannel) {
        let store = store(of: remote)
        store.catchingUpCount = max(0, store.catchingUpCount - 1)
        catchUpNext(in: store)
    }

    /// Finds out what was missed on a channel whose next message is not the one that follows the last.
    func lookForMissed(on remote: RemoteChannel) {
        remote.fellBehind()
        counts.divergences += 1
        guard remote.attaching == nil else { return }
        let store = store(of: remote)
        store.behind.append(remote)
        catchUpNext(in: store)
    }

    /// Decides what a channel has missed.
    func catchUp(_ remote: RemoteChannel, _ attachment: ChannelAttachment) {
        let partition = partitions[remote.partition]
        let since = partition.epoch?.since ?? 0
        let isContinued = since == remote.since || partition.epoch?.isClean == true
        guard isContinued else { return lose(remote, at: attachment.newest) }
        guard !remote.hasGap else { return lose(remote, at: attachment.newest, .truncated) }
        switch (remote.position, attachment.newest) {
        case (nil, nil):
            guard partition.isComplete else { return lose(remote, at: nil) }
            continueLive(remote)
        case (nil, let newest?):
            // Before its stream began, the channel's messages were only counted.
            guard partition.isComplete else { return lose(remote, at: newest) }
            setPosition(StreamPosition(stream: newest.stream, serial: 0), of: remote)
            readMissed(on: remote, upTo: newest)
        case (_?, nil): lose(remote, at: nil)
        case (let last?, let newest?):
            guard newest.stream == last.stream, newest.serial >= last.serial else {
                return lose(remote, at: newest)
            }
            readMissed(on: remote, upTo: newest)
        }
    }

    private func continueLive(_ remote: RemoteChannel) {
        remote.becameCurrent(since: partitions[remote.partition].epoch?.since ?? 0)
        caughtUp(remote)
    }

    private func readMissed(on remote: RemoteChannel, upTo newest: StreamPosition) {
        guard let last = remote.position, last != newest else { return continueLive(remote) }
        readNext(on: remote, behind: last)
    }

    private func readNext(on remote: RemoteChannel, behind last: StreamPosition) {
        remote.isReading = true
        readMessages(of: remote, from: "(\(last)", to: "+", as: .catchUp(remote))
    }

    /// Delivers what was missed; behind the last message everything that is published is received.
    func readMissed(_ reply: borrowing RESPView, _ remote: RemoteChannel) {
        guard remotes[remote.address] === remote, remote.isReading else { return }
        guard RedisError(reply) == nil, let known = remote.position else {
            // Refused for lack of something; the next connection tries again.
            store(of: remote).connection?.close()
            return
        }
        var next = known
        var gap: StreamPosition?
        reply.forEach { entry in
            guard gap == nil, let position = StreamPosition(entry[0]) else { return }
            guard position.stream == next.stream, position.serial == next.serial + 1,
                let announcement = announcement(entry, at: position),
                let envelope = announcement.content.envelope
            else {
                gap = position
                return
            }
            next = position
            counts.caughtUp += 1
            deliver(envelope, announcement, on: remote)
        }
        if gap != nil {
            // Behind this reply more may have been published.
            (remote.hasGap, remote.isReading) = (true, false)
            return sendAttach(
                remote,
                remote.address.name.kind.isPresence ? [.stream, .members] : .stream
            )
        }
        guard reply.count < Self.messagesMax else { return readNext(on: remote, behind: next) }
        continueLive(remote)
        grantWaiting(on: remote, remote.position == nil ? [] : .stream)
    }

    /// Continues a channel of which something is missing, or nobody can know: who tracks it is told, all others are closed
    /// and reconnect.
    private func lose(
        _ remote: RemoteChannel,
        at newest: StreamPosition?,
        _ reason: RecoveryGap.Reason = .unknownStream
    ) {
        counts.gaps += 1
        setPosition(newest, of: remote)
        let start = start(of: remote, .gap(RecoveryGap(reason)))
        endSubscriptions(to: remote, start)
        continueLive(remote)
    }

    /// Tells the subscribers of a channel that messages are missing.
    ///
    /// - Parameters:
    ///   - remote: The channel.
    ///   - start: Where those that track it go on; `nil` to close all.
    func endSubscriptions(to remote: RemoteChannel, _ start: SubscriptionStart?) {
        let address = remote.address
        guard let channel = channels.table[address] else { return }
        for shard in channel.home.subscribers.otherShards {
            let members = remote.members.members
            context.links.send(.lost(address, start, members: members), to: shard)
        }
        channels.lose(address, start, members: remote.members.members)
    }
}
