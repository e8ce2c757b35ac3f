import Broker
import Net
import PusherProtocol

/// An event's way from the shard that receives it to its channel's home, which puts it in order as soon as the channel's
/// subscribers have room for it.
extension ShardCore {
    /// Publishes events that one request triggers, in their order.
    ///
    /// - Parameters:
    ///   - publications: The events, each on one channel or several.
    ///   - app: The app that triggers them.
    /// - Returns: The trigger, as long as some are not in order; `nil` if they are.
    func publish(
        _ publications: some Collection<Publication>,
        of app: AppID
    ) -> PendingTrigger? {
        var pending: PendingTrigger?
        for publication in publications {
            for name in publication.channels {
                let address = ChannelAddress(app: app, name: name)
                let home = address.home(among: links.count)
                let channel = home == links.shard ? channels[address] : nil
                if home == links.shard, channel?.backlog?.hasRoom ?? true {
                    sequence(publication, on: channel, at: address)
                    continue
                }
                let trigger = pending ?? makeTrigger(for: publications)
                pending = trigger
                trigger.addEvent()
                if let backlog = channel?.backlog {
                    wait(in: backlog, publication, .here(trigger))
                } else {
                    let receipt = PublishReceipt(
                        shard: links.shard,
                        number: trigger.number,
                        isRefusable: trigger.isRefusable
                    )
                    links.send(.publish(address, publication, receipt), to: home)
                }
            }
        }
        return pending
    }

    private func makeTrigger(for publications: some Collection<Publication>) -> PendingTrigger {
        lastTriggerNumber += 1
        let trigger = PendingTrigger(
            number: lastTriggerNumber,
            isRefusable: publications.count == 1 && publications.first?.channels.count == 1
        )
        pendingTriggers[trigger.number] = trigger
        return trigger
    }

    /// The number of triggers that are not answered.
    var pendingTriggerCount: Int { pendingTriggers.count }

    // MARK: - At the home

    /// Puts an event that another shard has received in order, as soon as there is room.
    func accept(_ publication: Publication, on address: ChannelAddress, _ receipt: PublishReceipt) {
        guard !receipt.isRefusable || !reactor.inbound.isExhausted else {
            return refuseLater(.elsewhere(receipt))
        }
        let channel = channels[address]
        if let backlog = channel?.backlog, !backlog.hasRoom {
            return wait(in: backlog, publication, .elsewhere(receipt))
        }
        sequence(publication, on: channel, at: address)
        settle(.elsewhere(receipt), .accepted)
    }

    /// Adds an event to a backlog, unless that takes the memory which other channels need.
    private func wait(
        in backlog: ChannelBacklog,
        _ publication: Publication,
        _ origin: ChannelBacklog.Origin
    ) {
        guard origin.isRefusable, reactor.inbound.isFilling else {
            return backlog.append(.publication(publication, origin))
        }
        refuseLater(origin)
    }

    /// Refuses an event after ``refusalDelay``: the caller does not know yet that it has to wait for the outcome.
    private func refuseLater(_ origin: ChannelBacklog.Origin) {
        reactor.schedule(after: Self.refusalDelay, RefusedEvent(on: self, origin))
    }

    /// How long a trigger waits for its refusal: a publisher that pipelines must not spend the broker's time on requests
    /// that are refused.
    static var refusalDelay: Duration { .seconds(1) }

    /// Puts an event of a backlog in order.
    private func sequence(
        _ event: ChannelBacklog.Event,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        switch event {
        case .publication(let publication, let origin):
            sequence(publication, on: channel, at: address)
            settle(origin, .accepted)
        case .clientEvent(let event, let sender, let user):
            sequence(event, of: sender, user: user, on: channel, at: address)
        }
    }

    /// Reports what became of an event to the shard that received it.
    fileprivate func settle(
        _ origin: ChannelBacklog.Origin,
        _ outcome: PendingTrigger.Outcome
    ) {
        switch origin {
        case .here(let trigger): settle(trigger, outcome)
        case .elsewhere(let receipt):
            links.send(.published(number: receipt.number, outcome), to: receipt.shard)
        }
    }

    // MARK: - Where the request was received

    /// Records what a home reports of an event.
    func settle(_ number: UInt64, _ outcome: PendingTrigger.Outcome) {
        if let trigger = pendingTriggers[number] { settle(trigger, outcome) }
    }

    private func settle(_ trigger: PendingTrigger, _ outcome: PendingTrigger.Outcome) {
        guard let complete = trigger.settle(outcome) else { return }
        pendingTriggers[trigger.number] = nil
        complete()
    }

    // MARK: - Congestion

    /// Bytes of a backlog that are put in order in one turn.
    private static var drainedLengthMax: Int { 64 << 10 }

    /// The channel's backlog, made if there is none.
    private func openBacklog(of channel: Channel, at address: ChannelAddress) -> ChannelBacklog {
        if let backlog = channel.backlog { return backlog }
        let backlog = ChannelBacklog(of: address, on: self)
        channel.backlog = backlog
        return backlog
    }

    /// Begins or extends the channel's backlog if this shard's subscribers take its events more slowly than they come.
    func noteCongestion(of channel: Channel, at address: ChannelAddress) {
        let backlog = openBacklog(of: channel, at: address)
        guard !backlog.isCongestedHere else { return }
        backlog.isCongestedHere = true
        channel.notifyRelief(backlog)
        reportCongestion(at: address, true)
    }

    /// Sends no more to other shards until they say that their subscribers have room: how much is on its way to them is
    /// bounded that way, since they can report congestion only after the fact.
    func awaitConfirmation(of channel: Channel, at address: ChannelAddress, by shards: [Int]) {
        channel.unconfirmedLength = 0
        let backlog = openBacklog(of: channel, at: address)
        for shard in shards {
            backlog.setCongestion(of: shard, true)
            links.send(.confirm(address), to: shard)
        }
    }

    /// Tells the home that this shard's subscribers have room; if they have not, it is told when they are relieved.
    func confirm(_ address: ChannelAddress) {
        if channels[address]?.backlog?.isCongestedHere != true {
            reportCongestion(at: address, false)
        }
    }

    private func reportCongestion(at address: ChannelAddress, _ isCongested: Bool) {
        let home = address.home(among: links.count)
        guard home != links.shard else { return }
        links.send(
            .congestion(address, shard: links.shard, isCongested: isCongested),
            to: home
        )
    }

    /// Records at the home that subscribers of another shard are congested, or no longer are.
    func setCongestion(at address: ChannelAddress, of shard: Int, _ isCongested: Bool) {
        guard let channel = channels[address] else { return }
        guard isCongested || channel.backlog != nil else { return }
        let backlog = openBacklog(of: channel, at: address)
        backlog.setCongestion(of: shard, isCongested)
        drain(backlog, of: channel)
    }

    /// Goes on with a channel whose subscribers on this shard have caught up.
    func relieve(_ backlog: ChannelBacklog) {
        let address = backlog.address
        let channel = channels[address]
        guard let channel, channel.backlog === backlog else {
            // The channel was left meanwhile; if others came and are congested too, they have said so since.
            if backlog.isCongestedHere, channel?.backlog?.isCongestedHere != true {
                reportCongestion(at: address, false)
            }
            return
        }
        if channel.isCongested { return channel.notifyRelief(backlog) }
        if backlog.isCongestedHere {
            backlog.isCongestedHere = false
            reportCongestion(at: address, false)
        }
        drain(backlog, of: channel)
    }

    /// Puts events of a backlog in order while there is room, and ends the backlog when none is left.
    private func drain(_ backlog: ChannelBacklog, of channel: Channel) {
        var length = 0
        while !backlog.isCongested, let event = backlog.popFirst() {
            length += event.length(on: channel.name)
            sequence(event, on: channel, at: backlog.address)
            guard length < Self.drainedLengthMax else {
                // Other shards have to say first whether their subscribers can take more.
                return reactor.relieve(backlog)
            }
        }
        if backlog.hasRoom { channel.backlog = nil }
    }

    /// Puts all events of a channel in order that nobody is subscribed to any more.
    func flushBacklog(of channel: Channel, at address: ChannelAddress) {
        guard let backlog = channel.backlog.take() else { return }
        while let event = backlog.popFirst() { sequence(event, on: channel, at: address) }
    }

    // MARK: - The time limit

    /// What the timer of the backlogs is called with.
    static let backlogTag = 2
    private static var expiryInterval: Duration { .milliseconds(250) }

    /// Adds a backlog that has events to those whose triggers have a time limit.
    func watchBacklog(_ backlog: ChannelBacklog) {
        backlogs[ObjectIdentifier(backlog)] = backlog
        awaitExpiry()
    }

    /// Schedules the next look at the time limits, unless one is scheduled or nothing waits.
    private func awaitExpiry() {
        guard !awaitsExpiry, !backlogs.isEmpty else { return }
        awaitsExpiry = true
        reactor.schedule(after: Self.expiryInterval, self, tag: Self.backlogTag)
    }

    /// Removes a backlog that has no events left.
    func unwatchBacklog(_ backlog: ChannelBacklog) { backlogs[ObjectIdentifier(backlog)] = nil }

    /// Refuses the triggers that have waited for too long.
    func expireTriggers() {
        awaitsExpiry = false
        for backlog in backlogs.values {
            for origin in backlog.takeExpired(at: reactor.now) {
                met(.triggerTime)
                settle(origin, .refused(.triggerTime))
            }
            if let channel = channels[backlog.address], channel.backlog === backlog {
                drain(backlog, of: channel)
            }
        }
        awaitExpiry()
    }
}

/// An event that is refused because too much waits already, and the timer of its refusal.
private final class RefusedEvent: TimerTarget {
    private let core: ShardCore
    private let origin: ChannelBacklog.Origin

    init(on core: ShardCore, _ origin: ChannelBacklog.Origin) {
        self.core = core
        self.origin = origin
    }

    func timerFired(tag: Int) {
        core.met(.inboundBytes)
        core.settle(origin, .refused(.inboundBytes))
    }
}
