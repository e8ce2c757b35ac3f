package import Broker
import Net
package import PusherProtocol

/// Subscribing: a shard sends a request to the channel's home, and completes the subscription that the home grants.
///
/// Unsubscribing: from a channel, and from all channels when a connection closes.
extension ChannelService {
    /// Requests a subscription from the channel's home.
    func subscribe(
        _ connection: Connection,
        to channel: ChannelName,
        as member: Member?,
        from position: PositionRequest?,
        request: UInt32
    ) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        if let position { records.requested(connection, address, as: member, from: position) }
        let request = SubscriptionRequest(
            shard: context.shard,
            socketID: connection.socketID,
            number: request,
            addressDigest: connection.addressDigest
        )
        let mayReplay =
            position != nil
            || context.registry.replaysOpenings
                && connection.app.recovery.rule(of: channel).opening != .live
        if mayReplay {
            let waiting = ReplayThrottle.Request(
                address: address,
                member: member,
                position: position,
                subscription: request
            )
            if throttle.queueIfFull(waiting) { return startTimers() }
        }
        send(request, to: address, as: member, from: position)
    }

    /// Sends the waiting requests for which there is room.
    func sendWaitingRequests() {
        while let request = throttle.next() {
            send(
                request.subscription,
                to: request.address,
                as: request.member,
                from: request.position
            )
        }
    }

    /// Sends a request for a subscription to the channel's home.
    func send(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) {
        let home = context.home(of: address)
        if home == context.shard {
            authority.subscribe(request, to: address, as: member, from: position)
        } else if let position {
            context.links.send(.subscribeFrom(position, address, request, member), to: home)
        } else if let member {
            context.links.send(.subscribeAsMember(address, request, member), to: home)
        } else {
            context.links.send(.subscribe(address, request), to: home)
        }
    }

    /// At the home: refuses the subscription of a client that may not begin the channel's stream; returns whether it
    /// does so.
    package func refuseIfOverLimit(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        from position: PositionRequest?
    ) -> Bool {
        guard let refusal = refusal(of: request, to: address, from: position) else { return false }
        sendRefusal(of: request, at: address, refusal)
        return true
    }

    /// The reason why a client may not begin the stream of a channel; `nil` if it may, or need not.
    private func refusal(
        of request: SubscriptionRequest,
        to address: ChannelAddress,
        from position: PositionRequest?
    ) -> SubscriptionRefusal? {
        guard position != nil || context.registry.replaysOpenings,
            let app = context.registry.apps[address.app], app.recovery.isEnabled,
            position != nil || app.recovery.rule(of: address.name).opening != .live,
            !state.mayOpen(address, of: app, from: request.addressDigest)
        else { return nil }
        return .tooManyOpened(address.name, limit: app.recovery.openedStreamsMax)
    }

    /// Completes a subscription that the home of another shard has granted.
    func complete(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        _ grant: Grant
    ) {
        let channel = table.open(address)
        complete(request, to: channel, grant)
        closeIfVacant(channel, at: address)
    }

    /// Sends a grant to the subscriber's client, and adds the client to the fan-out of this shard.
    func complete(_ request: SubscriptionRequest, to channel: Channel, _ grant: Grant) {
        throttle.answered(request.socketID, on: channel.name)
        // If the connection has closed meanwhile, it has already unsubscribed at the home.
        guard let connection = connections[request.socketID] else { return }
        let replayed = grant.replayedByteCount
        if replayed > 0 {
            throttle.wrote(replayed, to: request.socketID, at: context.milliseconds)
        }
        guard connection.granted(channel.name, grant, request: request.number) else { return }
        channel.add(connection)
        if connection.isKept(channel.name) { channel.addConfirming(connection) }
        records.subscribed(connection, to: channel.name, grant)
    }

    /// Reports the refusal of a subscription to the client.
    func refuse(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        _ refusal: SubscriptionRefusal
    ) {
        throttle.answered(request.socketID, on: address.name)
        connections[request.socketID]?
            .refused(address.name, request: request.number, refusal)
    }

    // MARK: - Unsubscribing

    /// Unsubscribes a connection from a channel, here and at the home.
    func unsubscribe(_ connection: Connection, from channel: ChannelName) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        unsubscribe(connection.socketID, connection.stream, from: address)
    }

    /// Unsubscribes a closing connection from all its channels, at once or in portions.
    ///
    /// No event sent from now on reaches its stream.
    func unsubscribeAll(_ subscriptions: Subscriptions, of connection: Connection) {
        let (stream, app) = (connection.stream, connection.app.id)
        guard subscriptions.count > leaves.settings.atOnceMax, !context.reactor.hasShutDown else {
            subscriptions.forEachChannel {
                let address = ChannelAddress(app: app, name: $0)
                unsubscribe(connection.socketID, stream, from: address)
            }
            return
        }
        stream.detachFromGroups()
        leaves.append(subscriptions, stream, connection.socketID, app)
    }

    /// The number of closed connections that are still subscribed to channels.
    var leavingCount: Int { leaves.count }

    /// Unsubscribes closed connections from one portion of channels.
    func advanceLeaves() {
        guard !leaves.isEmpty else { return }
        for _ in 0..<leaves.settings.portionMax {
            guard let (address, stream, socketID) = leaves.popNext() else { return }
            unsubscribe(socketID, stream, from: address)
        }
    }

    private func unsubscribe(_ id: SocketID, _ stream: Stream, from address: ChannelAddress) {
        guard !throttle.withdraw(id, from: address.name) else { return }
        // A home drops a request that waits for the archive, so no answer follows.
        throttle.answered(id, on: address.name)
        let home = context.home(of: address)
        // Before its grant the channel may not exist.
        let channel = table[address]
        if let channel {
            records.unsubscribed(id, from: address.name, at: channel.lastSerial)
            channel.remove(stream)
            channel.removeConfirming(id)
        }
        if home == context.shard {
            authority.unsubscribe(id, of: home, from: channel, at: address)
        } else {
            context.links.send(.unsubscribe(address, shard: context.shard, id), to: home)
        }
        if let channel { closeIfVacant(channel, at: address) }
    }

    /// At the home: ends the subscription of a connection of any shard.
    func removeSubscriber(_ id: SocketID, of shard: Int, at address: ChannelAddress) {
        let channel = table[address]
        authority.unsubscribe(id, of: shard, from: channel, at: address)
        if let channel { closeIfVacant(channel, at: address) }
    }

    /// Removes a channel without subscribers.
    package func closeIfVacant(_ channel: Channel, at address: ChannelAddress) {
        guard channel.isVacant else { return }
        congestion.flush(channel, at: address)
        table.close(address)
    }
}
