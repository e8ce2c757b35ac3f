import Broker
import PusherProtocol
import RESP
import Redis
import Shard

// After a loss of the connection: what was published meanwhile is read, or its subscribers are notified.
extension SharedChannels {
    /// How many channels catch up at a time; one with many members, which are read, counts as several.
    private static var catchingUpCostMax: Int { 256 }
    /// The number of members that count as one more channel.
    private static var membersPerCost: Int { 64 }

    /// Called when the connection is lost, so that nothing is received any more.
    func fallBehind(in store: ClusterStore) {
        for index in store.partitions { remotes.lose(partition: index) }
        store.channels.removeAll()
    }

    /// Attaches the node again to all its channels of a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - partition: The index of the partition that has moved there; `nil` for all.
    func catchUpAll(in store: ClusterStore, partition: Int? = nil) {
        store.channels.unvisited += partition.map { [$0] } ?? store.partitions
        catchUpNext(in: store)
    }

    /// Finds the channels of a store's next partition to which the node is not attached, or for which subscriptions
    /// wait.
    ///
    /// - Returns: Whether there was a partition left.
    private func visitNextPartition(in store: ClusterStore) -> Bool {
        guard let index = store.channels.unvisited.popLast() else { return false }
        guard partitions[index].store === store else { return true }
        var vacant: [RemoteChannel] = []
        for remote in partitions[index].channels
        where remote.attaching == nil && !remote.isCatchingUp
            && !(remote.isCurrent && remote.waiting.isEmpty)
        {
            if remotes.subscriptionCount(of: remote) > 0 {
                store.channels.behind.append(remote)
            } else if !remote.isSubscribed {
                vacant.append(remote)
            }
        }
        for remote in vacant { remotes.forget(remote) }
        return true
    }

    /// Sends the next calls for channels that have to catch up, each for as many as possible.
    func catchUpNext(in store: ClusterStore) {
        while store.channels.catchUpsLeft > 0, mayCatchUp(in: store) {
            let channels = nextBehind(in: store)
            guard !channels.isEmpty else { return }
            store.channels.catchUpsLeft -= channels.count
            sendAttach(channels)
        }
    }

    private func mayCatchUp(in store: ClusterStore) -> Bool {
        let costMax = Self.catchingUpCostMax - ClusterScripts.messageCountMax
        return store.isOpen && store.channels.catchingUpCost <= costMax
    }

    /// Whether the next turn can send calls for channels that have to catch up.
    func hasCatchUps(in store: ClusterStore) -> Bool {
        mayCatchUp(in: store)
            && !(store.channels.behind.isEmpty && store.channels.unvisited.isEmpty)
    }

    /// Removes and returns the next channels that one call can include; none if there are no more.
    private func nextBehind(
        in store: ClusterStore
    ) -> [(remote: RemoteChannel, interests: PartitionCalls.Interests)] {
        var channels: [(remote: RemoteChannel, interests: PartitionCalls.Interests)] = []
        while store.channels.behind.isEmpty, visitNextPartition(in: store) {}
        let countMax = min(ClusterScripts.messageCountMax, store.channels.catchUpsLeft)
        while channels.count < countMax, let remote = store.channels.behind.last {
            let isPresence = remote.address.name.kind.isPresence
            if let first = channels.first?.remote {
                guard remote.partition == first.partition, !isPresence else { break }
            }
            store.channels.behind.removeLast()
            guard remotes[remote.address] === remote, remote.attaching == nil,
                remotes.store(of: remote) === store,
                // Attached meanwhile for a subscription.
                !remote.isCurrent || !remote.waiting.isEmpty
            else { continue }
            let interests = beginCatchingUp(remote, in: store)
            // It may be listed twice.
            remote.attaching = interests
            channels.append((remote, interests))
            // The list of members may be long.
            if isPresence { break }
        }
        return channels
    }

    /// Returns what a channel that may have missed messages has to read.
    private func beginCatchingUp(
        _ remote: RemoteChannel,
        in store: ClusterStore
    ) -> PartitionCalls.Interests {
        if remote.catchingUpCost == 0 {
            remote.catchingUpCost = 1 + remote.members.members.count / Self.membersPerCost
            store.channels.catchingUpCost += remote.catchingUpCost
        }
        guard remote.isBehind else { return interestsOfWaiting(on: remote) }
        var interests: PartitionCalls.Interests = remote.position == nil ? [] : .stream
        if remote.address.name.kind.isPresence { interests.insert(.members) }
        if remote.address.name.kind.isCache { interests.insert(.cachedEvent) }
        return interests
    }

    /// Called when a channel has caught up.
    func caughtUp(_ remote: RemoteChannel) {
        let store = remotes.store(of: remote)
        store.channels.catchingUpCost -= exchange(&remote.catchingUpCost, with: 0)
        catchUpNext(in: store)
    }

    /// Catches up on a channel whose next message does not follow the last one.
    func lookForMissed(on remote: RemoteChannel) {
        partitions.counts.divergences += 1
        attachAgain(remote)
    }

    /// Attaches the node to a channel again, and catches up.
    func attachAgain(_ remote: RemoteChannel) {
        remotes.fellBehind(remote)
        guard remote.attaching == nil else { return }
        let store = remotes.store(of: remote)
        store.channels.behind.append(remote)
        catchUpNext(in: store)
    }

    /// Called when another node has declared this one dead in a partition, which has none of its data any more.
    func takenForDead(in index: Int) {
        let store = partitions[index].store
        registerAgain(index)
        for remote in partitions[index].channels where remote.countedSubscriptions > 0 {
            remotes.setCountedSubscriptions(0, of: remote)
            guard remote.isCurrent else {
                // Reading of missed messages continues; after it the node is attached again.
                remote.setHasJoinedAgain(false)
                continue
            }
            remotes.fellBehind(remote)
            store.channels.behind.append(remote)
        }
        catchUpNext(in: store)
    }

    /// Decides what a channel has missed.
    func catchUp(_ remote: RemoteChannel, _ attachment: ChannelAttachment) {
        let partition = partitions[remote.partition]
        let since = partition.epoch?.since ?? 0
        guard remote.since >= partition.base else { return lose(remote, at: attachment.newest) }
        if remote.missing?.hasGap == true {
            let isSame = remote.position?.stream == attachment.newest?.stream
            return lose(remote, at: attachment.newest, isSame ? .truncated : .unknownStream)
        }
        // The node was subscribed before the counter was read, so everything published meanwhile is counted, even if
        // not received. The counter of another epoch proves nothing: the former primary may have counted what its
        // replica lacks.
        let isComplete = attachment.counter == remote.counter && since == remote.since
        switch (remote.position, attachment.newest) {
        case (nil, nil):
            guard isComplete else { return lose(remote, at: nil) }
            continueLive(remote)
        case (nil, let newest?):
            // Before its stream began, the channel's messages were only counted.
            guard isComplete else { return lose(remote, at: newest) }
            remotes.setPosition(StreamPosition(stream: newest.stream, serial: 0), of: remote)
            readMissed(on: remote, upTo: newest)
        case (_?, nil): lose(remote, at: nil)
        case (let last?, let newest?):
            // A sealed stream is followed by its successor.
            let isBehind =
                newest.stream == last.stream
                ? newest.serial >= last.serial : newest.stream > last.stream
            guard isBehind else { return lose(remote, at: newest) }
            readMissed(on: remote, upTo: newest)
        }
    }

    private func continueLive(_ remote: RemoteChannel) {
        remote.becameCurrent(since: partitions[remote.partition].epoch?.since ?? 0)
        caughtUp(remote)
    }

    private func readMissed(on remote: RemoteChannel, upTo newest: StreamPosition) {
        guard let last = remote.position, last != newest else { return continueLive(remote) }
        remote.beginCatchingUp(upTo: newest)
        readNext(on: remote, behind: last)
    }

    private func readNext(on remote: RemoteChannel, behind last: StreamPosition) {
        let countMax = rules.readCountMax(of: remote.address)
        let call = AwaitedCall { [self] reply in readMissed(reply, remote, countMax: countMax) }
        remotes.readMessages(of: remote, from: "(\(last)", to: "+", countMax: countMax, as: call)
    }

    /// Delivers the missed messages; everything published after the last of them is received.
    private func readMissed(_ reply: borrowing RESPView, _ remote: RemoteChannel, countMax: Int) {
        guard remotes[remote.address] === remote, remote.isCatchingUp else { return }
        guard RedisError(reply) == nil, let known = remote.position else {
            // Refused for lack of resources; the next connection tries again.
            remotes.store(of: remote).connection?.close()
            return
        }
        var continuation = StreamContinuation(behind: known)
        var hasGap = false
        reply.forEach { entry in
            guard !hasGap else { return }
            let step = continuation.advance(to: entry)
            hasGap = !deliver(entry, step, at: continuation.position, on: remote)
        }
        // Messages after the last entry may be lost.
        let last = continuation.position
        let isLastPart = reply.count < countMax
        if isLastPart, let newest = remote.newest,
            last.stream != newest.stream || last.serial < newest.serial
        {
            hasGap = true
        }
        if hasGap {
            // More may have been published after this reply.
            remote.foundGap()
            return sendAttach(
                remote,
                remote.address.name.kind.isPresence ? [.stream, .members] : .stream
            )
        }
        guard isLastPart else { return readNext(on: remote, behind: last) }
        continueLive(remote)
        if remote.countedSubscriptions == 0, remotes.subscriptionCount(of: remote) > 0 {
            // Meanwhile another node has declared this one dead.
            return attachAgain(remote)
        }
        grantWaiting(on: remote, remote.position == nil ? [] : .stream)
    }

    /// Delivers a missed entry, and returns whether nothing is missing before it.
    private func deliver(
        _ entry: borrowing RESPView,
        _ step: StreamContinuation.Step,
        at position: StreamPosition,
        on remote: RemoteChannel
    ) -> Bool {
        switch step {
        case .gap:
            if StreamPosition(entry[0]) == nil { remotes.refusedEntry(on: remote) }
            return false
        case .stream:
            remotes.setPosition(position, of: remote)
            delivery.restart(remote, .recovered(replay: 0))
        case .message:
            guard let announcement = ChannelAnnouncement(entry, at: position),
                let envelope = announcement.content.envelope
            else {
                remotes.refusedEntry(on: remote)
                return false
            }
            partitions.counts.caughtUp += 1
            delivery.deliver(envelope, announcement, on: remote)
        }
        return true
    }

    /// Continues a channel that lacks messages, or may lack some.
    ///
    /// Clients that track it are notified of a gap; all others are closed and reconnect.
    private func lose(
        _ remote: RemoteChannel,
        at newest: StreamPosition?,
        _ reason: RecoveryGap.Reason = .unknownStream
    ) {
        partitions.counts.gaps += 1
        remotes.setPosition(newest, of: remote)
        let start = delivery.start(of: remote, .gap(RecoveryGap(reason)))
        delivery.endSubscriptions(to: remote, start)
        continueLive(remote)
    }
}
