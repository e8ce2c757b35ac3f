package import Broker
import Net
package import PusherProtocol

/// Subscribing: a shard sends a request to the channel's home, and completes the subscription that the home grants.
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
        if position != nil || context.registry.replaysOpenings,
            queueIfThrottled(request, to: address, as: member, from: position, of: connection.app)
        {
            return
        }
        send(request, to: address, as: member, from: position)
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
        recordReplay(grant, of: request, on: channel.name)
        // If the connection has closed meanwhile, it has already unsubscribed at the home.
        if let connection = connections[request.socketID],
            connection.granted(channel.name, grant, request: request.number)
        {
            channel.add(connection)
            if connection.isKept(channel.name) { channel.addConfirming(connection) }
            records.subscribed(connection, to: channel.name, grant)
        }
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
}
