import Broker
import PusherProtocol

/// The channels of a standalone broker: ``ChannelHome`` decides, in memory and at once.
final class LocalChannels: ChannelAuthority {
    // SAFETY: the service owns this object.
    unowned(unsafe) let channels: ChannelService

    init(_ channels: ChannelService) { self.channels = channels }

    var context: ShardContext { channels.context }

    // MARK: - Events

    func publish(
        _ event: ProposedEvent,
        on channel: Channel?,
        at address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome? {
        let decision = decide(on: event, on: channel, at: address)
        guard case .publish(let stream) = decision else {
            return decision.outcome(of: event, on: address.name)
        }
        return number(event, in: stream, on: channel, at: address)
    }

    /// Decides on an event; most need no lookup of the app.
    func decide(
        on event: ProposedEvent,
        on channel: Channel?,
        at address: ChannelAddress
    ) -> EventDecision {
        let (registry, now) = (context.registry, context.milliseconds)
        let mayBegin = event.needsPosition || registry.keepsMessagesAlways
        let app = mayBegin ? registry.apps[address.app] : nil
        defer { if mayBegin { channels.streamMayHaveBegun(at: address) } }
        if let channel {
            return channel.home.decide(
                on: event,
                at: address,
                of: app,
                sharing: &channels.state,
                now: now
            )
        }
        var vacant = ChannelHome(on: context.shard)
        return vacant.decide(on: event, at: address, of: app, sharing: &channels.state, now: now)
    }

    /// Publishes an event as the next message of a stream; of none, if the event is not numbered.
    func number(
        _ event: ProposedEvent,
        in stream: Int?,
        on channel: Channel?,
        at address: ChannelAddress
    ) -> PendingTrigger.Outcome {
        var message: ChannelMessage?
        if channel != nil || stream != nil {
            let serial = stream.map { channels.state.streams.nextSerial($0) } ?? 0
            message = ChannelMessage(event, channel: address.name, serial: serial)
        }
        return recordAndDistribute(event, message, in: stream, on: channel, at: address)
    }

    /// Records an event that has its place in the channel's order, and sends it to the shards with subscribers.
    ///
    /// Of a stored channel this follows when the archive has written it; `time` is when the event got its serial, `nil`
    /// for now.
    func recordAndDistribute(
        _ event: ProposedEvent,
        _ message: ChannelMessage?,
        in stream: Int?,
        on channel: Channel?,
        at address: ChannelAddress,
        time: Int64? = nil
    ) -> PendingTrigger.Outcome {
        context.publishedCount &+= 1
        context.notify(event.publishedKind, on: address, event.published)
        let isRemembered =
            event.key != nil || address.name.kind.isCache && event.cached != nil
        if isRemembered || stream != nil {
            let now = context.milliseconds
            let effects = channels.state.record(
                event,
                as: message?.envelope,
                in: stream,
                on: address,
                of: isRemembered ? context.registry.apps[address.app] : nil,
                at: time ?? now,
                now: now
            )
            channels.perform(effects, on: channel, at: address)
        }
        if let message, let channel {
            channels.distribute(
                message,
                on: channel,
                at: address,
                except: event.except,
                receiptOf: event.receiptKey
            )
        }
        guard event.key != nil || event.needsPosition else { return .accepted }
        let position = stream.map { channels.state.streams[$0].position }
        return .published(event, on: address.name, at: position, isRepeated: false)
    }

    // MARK: - Subscriptions

    func subscribe(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) {
        guard !channels.refuseIfOverLimit(request, to: address, from: position) else { return }
        add(request, to: address, as: member, from: position)
    }

    /// Adds a subscriber, or refuses it; `archived` are messages of the archive that precede those in memory.
    func add(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?,
        behind archived: ArchivedMessages = ArchivedMessages()
    ) {
        // Each access to the property would count a reference.
        let channels = channels
        let channel = channels.table.open(address)
        let effects = channel.home.subscribe(
            Subscriber(request, as: member, from: position),
            to: address,
            of: channels.app(of: address, isTracked: position != nil),
            sharing: &channels.state,
            behind: archived,
            at: channels.context.milliseconds
        )
        channels.perform(effects, on: channel, at: address, for: request)
        // The channel may have been created only for a connection that is refused.
        channels.closeIfVacant(channel, at: address)
    }

    func unsubscribe(
        _ id: SocketID,
        of shard: Int,
        from channel: Channel?,
        at address: ChannelAddress
    ) {
        guard let channel else { return }
        let channels = channels
        let effects = channel.home.unsubscribe(
            id,
            from: shard,
            at: address,
            of: channels.app(of: address),
            sharing: &channels.state,
            now: channels.context.milliseconds
        )
        channels.context.notify(.subscriptions, on: address, .unsubscribed(id))
        channels.perform(effects, on: channel, at: address)
    }

    // MARK: - The shard

    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) -> Int {
        let portion = channels.table.portion(of: range)
        finish(portion)
        return portion.entries.count
    }

    func appsWereReplaced(_ former: AppRegistry) {
        channels.state.replaceSettings(of: context.registry.apps.all)
    }

    func dispatch() -> Bool { false }

    var tableSizes: [(table: String, count: Int)] { [] }

    func dropPending() {}
}

extension EventDecision {
    /// The outcome of an event that is not published; `nil` if it is.
    func outcome(of event: ProposedEvent, on channel: ChannelName) -> PendingTrigger.Outcome? {
        switch self {
        case .publish: nil
        case .repeated(let position): .published(event, on: channel, at: position, isRepeated: true)
        case .conflicting: .conflicting
        case .outdated(let last): .outdated(last)
        }
    }
}
