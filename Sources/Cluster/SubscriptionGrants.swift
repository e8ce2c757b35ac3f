import Broker
import Primitives
import PusherProtocol
import Redis
import Shard

// Subscriptions: the node is attached to a channel while it has subscribers.
//
// The grant of a subscription follows the reply to `attach`. Messages published before that reply are included in it,
// and messages published after it are received after it. So nothing is missed, and nothing is buffered.
extension SharedChannels {
    /// Grants or refuses a subscription, now or later.
    ///
    /// It waits for the node to be attached to the channel, or for messages that are no longer in memory.
    func subscribe(_ subscription: PendingSubscription, to address: ChannelAddress) {
        let (request, position) = (subscription.request, subscription.position)
        guard !service.refuseIfOverLimit(request, to: address, from: position) else {
            return countChanged(at: address)
        }
        // The console's page shows only this node.
        if address.app == context.registry.consoleApp?.id {
            return admit(subscription, to: address)
        }
        let remote = remotes[address] ?? remotes.follow(address)
        guard remotes.store(of: remote).isolation != .closed else {
            remote.waiting.append(subscription)
            return delivery.close(request)
        }
        guard remote.isGranting || isReady(remote, for: subscription) else {
            remote.waiting.append(subscription)
            return attach(remote)
        }
        remotes.keepStream(of: remote)
        if members.joins(subscription, remote) || replays.begin(subscription, on: remote) { return }
        admit(subscription, to: address)
    }

    /// Adds a subscriber for whom everything is known, with the members and the cached event of all nodes.
    func admit(
        _ subscription: PendingSubscription,
        to address: ChannelAddress,
        behind missed: ArchivedMessages = ArchivedMessages()
    ) {
        let (request, position) = (subscription.request, subscription.position)
        let channel = service.table.open(address)
        if channel.home.isVacant { service.table.becameOccupied(address) }
        let effects = channel.home.admit(
            Subscriber(request, as: subscription.member, from: position),
            to: address,
            of: service.app(of: address, isTracked: position != nil),
            sharing: &service.state,
            behind: missed,
            at: context.milliseconds
        )
        let remote = remotes[address]
        for effect in effects {
            switch effect {
            case .grant(let grant):
                service.send(
                    grant,
                    for: request,
                    of: channel,
                    at: address,
                    shared: remote?.cachedOpening(ahead: grant.replay),
                    members: address.name.kind.isPresence ? remote?.members.members : nil
                )
            // The copies of this node have no cached event.
            case .notify(.cacheMiss) where remote?.cached != nil: break
            default: service.perform([effect], on: channel, at: address, for: request)
            }
        }
        service.startTimers()
        // It knows no count yet.
        remote?.toldTotal = nil
        countChanged(at: address)
    }

    /// Removes a subscriber, or drops the subscription that waits.
    func unsubscribe(
        _ id: SocketID,
        of shard: Int,
        from channel: Channel?,
        at address: ChannelAddress
    ) {
        guard !withdraw(id, from: address), let channel else { return }
        let (wasSubscribed, departed, limit) = channel.home.dismiss(
            id,
            from: shard,
            at: address,
            sharing: &service.state,
            now: context.milliseconds
        )
        context.notify(.subscriptions, on: address, .unsubscribed(id))
        if wasSubscribed, channel.home.isVacant { service.table.becameVacant(address) }
        if let limit { context.limitMet(limit, of: address.app) }
        if let departed, let remote = remotes[address] { members.leaveIfAbsent(departed, remote) }
        countChanged(at: address)
    }

    /// Removes the subscription of a connection that has unsubscribed meanwhile, and returns whether it was waiting.
    func withdraw(_ id: SocketID, from address: ChannelAddress) -> Bool {
        guard let remote = remotes[address] else { return false }
        // The call has been sent: when it is answered, the user leaves.
        if remote.joining.remove(id) != nil { return true }
        guard let subscription = remote.waiting.remove(id) ?? remote.replaying.remove(id) else {
            return false
        }
        if let replay = subscription.replay { replays.cancel(replay) }
        if let user = subscription.member?.id { members.leaveIfAbsent(user, remote) }
        countChanged(at: address)
        return true
    }

    /// What a subscription needs to know about its channel.
    func interests(of subscription: PendingSubscription, on remote: RemoteChannel)
        -> PartitionCalls.Interests
    {
        var interests: PartitionCalls.Interests = []
        if remote.address.name.kind.isCache { interests.insert(.cachedEvent) }
        // The announcements keep the list up to date.
        if remote.address.name.kind.isPresence, !remote.isCurrent { interests.insert(.members) }
        let rule = rules.recovery(of: remote.address)
        if let rule, subscription.position != nil || rule.opening != .live || rule.keep == .always {
            interests.insert(.stream)
        }
        return interests
    }

    private func isReady(_ remote: RemoteChannel, for subscription: PendingSubscription) -> Bool {
        guard remote.isCurrent, remote.countedSubscriptions > 0, remote.waiting.isEmpty else {
            return false
        }
        let interests = interests(of: subscription, on: remote)
        // The cached event may have expired.
        guard !interests.contains(.cachedEvent) else { return false }
        return !interests.contains(.stream) || knowsStream(of: subscription, on: remote)
    }

    /// Whether the node knows enough of the channel's stream to determine what a client has missed.
    private func knowsStream(
        of subscription: PendingSubscription,
        on remote: RemoteChannel
    ) -> Bool {
        guard remotes.hasStream(remote), let last = remote.position else { return false }
        guard let app = context.registry.apps[remote.address.app],
            let issued = subscription.position?.position,
            let position = StreamPosition(app.position(issuedAs: issued, on: remote.address.name))
        else { return true }
        // A client that comes from another node may have got more messages than this one, which has not noticed yet
        // that it receives nothing.
        return position.stream == last.stream
            ? position.serial <= last.serial : position.stream < last.stream
    }

    /// The maximum number of waiting subscriptions that a turn grants, so that events wait for no more.
    static var grantedMax: Int { 16 }
    /// The maximum number that an answer grants if each of them needs an answer.
    private static var answeredMax: Int { 64 }

    /// Grants the first subscriptions that wait for the node to be attached.
    ///
    /// - Parameters:
    ///   - remote: The channel, of which the node has received everything.
    ///   - answered: What Redis has just read.
    func grantWaiting(on remote: RemoteChannel, _ answered: PartitionCalls.Interests) {
        var granted: [PendingSubscription] = []
        // The cached event is part of the answer, and may have changed a turn later.
        let countMax = answered.contains(.cachedEvent) ? Self.answeredMax : Self.grantedMax
        for subscription in remote.waiting.first(countMax) {
            var needed = interests(of: subscription, on: remote)
            if knowsStream(of: subscription, on: remote) { needed.remove(.stream) }
            guard needed.isSubset(of: answered) else { continue }
            _ = remote.waiting.remove(subscription.request.socketID)
            granted.append(subscription)
        }
        grant(granted, on: remote)
        if !remote.waiting.isEmpty {
            // The count is announced once to all of them.
            guard granted.count < countMax else { return grantLater(on: remote) }
            attach(remote)
        }
        // Redis has announced it before the grants, or while the node was behind.
        tellTotal(remote)
        countChanged(at: remote.address)
    }

    /// Grants the others in the next turns; the node receives everything published, so no other answer is needed.
    private func grantLater(on remote: RemoteChannel) {
        guard !remote.isInGrants else { return }
        remote.isInGrants = true
        granting.append(remote)
    }

    /// Grants the next portion of the subscriptions that wait on one channel.
    func grantNext() {
        guard !granting.isEmpty else { return }
        let remote = granting.removeFirst()
        remote.isInGrants = false
        // Those of a store that counts as lost wait for the ends of their connections.
        guard remotes[remote.address] === remote, !remote.waiting.isEmpty,
            remotes.store(of: remote).isolation != .closed
        else { return }
        if remote.isCurrent, remote.countedSubscriptions > 0 {
            grantWaiting(on: remote, [])
        } else {
            // After a loss the channel catches up first.
            attach(remote)
        }
    }

    /// Grants subscriptions for which Redis has just answered.
    func grant(_ subscriptions: [PendingSubscription], on remote: RemoteChannel) {
        remote.isGranting = true
        for subscription in subscriptions {
            subscribe(subscription, to: remote.address)
        }
        remote.isGranting = false
    }
}
