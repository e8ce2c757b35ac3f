import Broker
import Net
import PusherProtocol

/// What happens while the subscribers of a channel take its events more slowly than they come: new events wait in the channel's
/// backlog at its home, and their publishers for the answer.
extension ChannelService: ChannelBacklogDelegate {
    /// Adds an event to a backlog, unless that takes memory which other channels need.
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

    /// Refuses an event after ``refusalDelay``: the caller does not know yet that it has to wait for the outcome.
    func refuseLater(_ origin: ChannelBacklog.Origin) {
        context.reactor.schedule(after: Self.refusalDelay, RefusedEvent(of: self, origin))
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
        case .clientEvent(let event, let author):
            sequence(event, by: author, on: channel, at: address)
        }
    }

    /// Reports what became of an event to the shard that received it.
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

    /// Records what a home reports of an event that this shard has received.
    func settle(_ number: UInt64, _ outcome: PendingTrigger.Outcome) {
        if let trigger = triggers[number] { settle(trigger, outcome) }
    }

    private func settle(_ trigger: PendingTrigger, _ outcome: PendingTrigger.Outcome) {
        guard let complete = trigger.settle(outcome) else { return }
        triggers.remove(trigger)
        complete()
    }

    // MARK: - Congestion

    /// Bytes of a backlog that are put in order in one turn.
    private static var drainedLengthMax: Int { 64 << 10 }

    /// The channel's backlog, made if there is none.
    private func openBacklog(of channel: Channel, at address: ChannelAddress) -> ChannelBacklog {
        if let backlog = channel.backlog { return backlog }
        let backlog = ChannelBacklog(of: address, context, delegate: self)
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
            context.links.send(.confirm(address), to: shard)
        }
    }

    /// Tells the home that this shard's subscribers have room; if they have not, it is told when they are relieved.
    func confirm(_ address: ChannelAddress) {
        if table[address]?.backlog?.isCongestedHere != true {
            reportCongestion(at: address, false)
        }
    }

    private func reportCongestion(at address: ChannelAddress, _ isCongested: Bool) {
        let home = address.home(among: context.links.count)
        guard home != context.links.shard else { return }
        context.links.send(
            .congestion(address, shard: context.links.shard, isCongested: isCongested),
            to: home
        )
    }

    /// Records at the home that subscribers of another shard are congested, or no longer are.
    func setCongestion(at address: ChannelAddress, of shard: Int, _ isCongested: Bool) {
        guard let channel = table[address] else { return }
        guard isCongested || channel.backlog != nil else { return }
        let backlog = openBacklog(of: channel, at: address)
        backlog.setCongestion(of: shard, isCongested)
        drain(backlog, of: channel)
    }

    /// Goes on with a channel whose subscribers on this shard have caught up.
    func backlogIsRelieved(_ backlog: ChannelBacklog) {
        let address = backlog.address
        let channel = table[address]
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
                return context.reactor.relieve(backlog)
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

    /// Adds a backlog that has events to those whose triggers have a time limit.
    func backlogHasEvents(_ backlog: ChannelBacklog) {
        backlogs[ObjectIdentifier(backlog)] = backlog
        startExpiryTimer()
    }

    /// Removes a backlog that has no events left.
    func backlogIsEmpty(_ backlog: ChannelBacklog) { backlogs[ObjectIdentifier(backlog)] = nil }

    /// Refuses the triggers that have waited for too long.
    func expireTriggers() {
        isExpiryTimerRunning = false
        for backlog in backlogs.values {
            for origin in backlog.takeExpired(at: context.reactor.now) {
                context.limitMet(.triggerTime)
                settle(origin, .refused(.triggerTime))
            }
            if let channel = table[backlog.address], channel.backlog === backlog {
                drain(backlog, of: channel)
            }
        }
        startExpiryTimer()
    }
}

/// An event that is refused for lack of memory, and the timer of its refusal.
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
