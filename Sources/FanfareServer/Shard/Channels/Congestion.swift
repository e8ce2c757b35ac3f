import Broker
import Net
import PusherProtocol

/// The handling of congested channels, whose subscribers are slower than their events.
///
/// New events are queued in the channel's backlog at its home, and their publishers wait for the answer.
extension ChannelService: ChannelBacklogDelegate {
    /// Adds an event to a backlog, or refuses it while memory is scarce.
    func enqueue(
        _ publication: Publication,
        _ origin: ChannelBacklog.Origin,
        in backlog: ChannelBacklog
    ) {
        guard origin.isRefusable, context.reactor.inbound.isFilling else {
            return backlog.append(.publication(publication, origin))
        }
        refuseLater(origin)
    }

    /// Refuses an event after ``refusalDelay``: the caller does not wait for the outcome yet.
    func refuseLater(_ origin: ChannelBacklog.Origin) {
        context.reactor.schedule(after: Self.refusalDelay, RefusedEvent(of: self, origin))
    }

    /// The delay of a refusal, so that a publisher that pipelines cannot cause constant work with refused requests.
    static var refusalDelay: Duration { .seconds(1) }

    /// Sequences an event of a backlog.
    private func sequence(
        _ event: ChannelBacklog.Event,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        switch event {
        case .publication(let publication, let origin):
            let outcome = sequence(publication, on: channel, at: address) { origin }
            if let outcome { settle(origin, outcome) }
        case .clientEvent(let event, let author):
            sequence(event, by: author, on: channel, at: address)
        }
    }

    /// Reports the outcome of an event to the shard that received it.
    func settle(
        _ origin: ChannelBacklog.Origin,
        _ outcome: PendingTrigger.Outcome
    ) {
        switch origin {
        case .here(let trigger): settle(trigger, outcome)
        case .elsewhere(let receipt):
            context.links.send(.published(number: receipt.number, outcome), to: receipt.shard)
        }
    }

    /// Called when a home reports the outcome of an event that this shard received.
    func settle(_ number: UInt64, _ outcome: PendingTrigger.Outcome) {
        if let trigger = triggers[number] { settle(trigger, outcome) }
    }

    private func settle(_ trigger: PendingTrigger, _ outcome: PendingTrigger.Outcome) {
        guard let complete = trigger.settle(outcome) else { return }
        triggers.remove(trigger)
        complete()
    }

    // MARK: - Congestion

    /// The maximum length of the events of a backlog that are sequenced in one turn, in bytes.
    private static var drainedLengthMax: Int { 64 << 10 }

    /// Returns the channel's backlog; creates it if needed.
    private func openBacklog(of channel: Channel, at address: ChannelAddress) -> ChannelBacklog {
        if let backlog = channel.backlog { return backlog }
        let backlog = ChannelBacklog(of: address, context, delegate: self)
        channel.backlog = backlog
        return backlog
    }

    /// Starts or extends the channel's backlog because subscribers of this shard are congested.
    func recordCongestion(of channel: Channel, at address: ChannelAddress) {
        let backlog = openBacklog(of: channel, at: address)
        guard !backlog.isCongestedHere else { return }
        backlog.isCongestedHere = true
        channel.notifyRelief(backlog)
        reportCongestion(at: address, true)
    }

    /// Stops sending to other shards until they confirm that their subscribers have room.
    ///
    /// This bounds the bytes in transit, because shards report congestion only afterwards.
    func awaitConfirmation(of channel: Channel, at address: ChannelAddress, by shards: [Int]) {
        channel.unconfirmedLength = 0
        let backlog = openBacklog(of: channel, at: address)
        for shard in shards {
            backlog.setCongestion(of: shard, true)
            context.links.send(.confirm(address), to: shard)
        }
    }

    /// Confirms to the home that this shard's subscribers have room; if they do not, the home gets the confirmation
    /// when they have caught up.
    func confirm(_ address: ChannelAddress) {
        if table[address]?.backlog?.isCongestedHere != true {
            reportCongestion(at: address, false)
        }
    }

    private func reportCongestion(at address: ChannelAddress, _ isCongested: Bool) {
        let home = context.home(of: address)
        guard home != context.shard else { return }
        context.links.send(
            .congestion(address, shard: context.shard, isCongested: isCongested),
            to: home
        )
    }

    /// At the home: records whether subscribers of another shard are congested.
    func setCongestion(at address: ChannelAddress, of shard: Int, _ isCongested: Bool) {
        guard let channel = table[address] else { return }
        guard isCongested || channel.backlog != nil else { return }
        let backlog = openBacklog(of: channel, at: address)
        backlog.setCongestion(of: shard, isCongested)
        drain(backlog, of: channel)
    }

    /// Continues with a channel whose subscribers on this shard have caught up.
    func backlogIsRelieved(_ backlog: ChannelBacklog) {
        let address = backlog.address
        let channel = table[address]
        guard let channel, channel.backlog === backlog else {
            // The channel was left meanwhile. If it has new, congested subscribers, these have been reported since.
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

    /// Sequences events of a backlog while there is room, and ends the backlog when it is empty.
    private func drain(_ backlog: ChannelBacklog, of channel: Channel) {
        var length = 0
        while !backlog.isCongested, let event = backlog.popFirst() {
            length += event.length(on: channel.name)
            sequence(event, on: channel, at: backlog.address)
            guard length < Self.drainedLengthMax else {
                // Other shards must confirm first that their subscribers have room.
                return context.reactor.relieve(backlog)
            }
        }
        if backlog.hasRoom { channel.backlog = nil }
    }

    /// Sequences all queued events of a channel without subscribers.
    func flushBacklog(of channel: Channel, at address: ChannelAddress) {
        guard let backlog = channel.backlog.take() else { return }
        while let event = backlog.popFirst() { sequence(event, on: channel, at: address) }
    }

    // MARK: - The time limit

    /// Adds the backlog to those whose triggers have a deadline.
    func backlogHasEvents(_ backlog: ChannelBacklog) {
        backlogs[ObjectIdentifier(backlog)] = backlog
        startTimers()
    }

    /// Removes the backlog from those whose triggers have a deadline.
    func backlogIsEmpty(_ backlog: ChannelBacklog) { backlogs[ObjectIdentifier(backlog)] = nil }

    /// Refuses the expired triggers.
    func expireTriggers() {
        for backlog in backlogs.values {
            for origin in backlog.removeExpired(at: context.reactor.now) {
                context.limitMet(.triggerTime, of: backlog.address.app)
                settle(origin, .refused(.triggerTime))
            }
            if let channel = table[backlog.address], channel.backlog === backlog {
                drain(backlog, of: channel)
            }
        }
    }
}

/// An event that is refused for lack of memory when its timer fires.
private final class RefusedEvent: TimerTarget {
    private let service: ChannelService
    private let origin: ChannelBacklog.Origin

    init(of service: ChannelService, _ origin: ChannelBacklog.Origin) {
        self.service = service
        self.origin = origin
    }

    func timerFired(tag: Int) {
        service.context.limitMet(.inboundBytes)
        service.settle(origin, .refused(.inboundBytes))
    }
}
