import Broker
import Net
import PusherProtocol

/// The congested channels of one shard, whose subscribers are slower than their events.
///
/// New events are queued in the channel's backlog at its home, and their publishers wait for the answer.
final class Congestion: ChannelBacklogDelegate, TimerTarget {
    /// The maximum length of the events of a backlog that are sequenced in one turn, in bytes.
    private static var drainedLengthMax: Int { 64 << 10 }
    /// The maximum delay of the refusal of an expired trigger.
    private static var expiryInterval: Duration { .milliseconds(250) }

    private let context: ShardContext
    private unowned let channels: ChannelService
    /// The backlogs with queued events, whose triggers have a deadline.
    private var backlogs: [ObjectIdentifier: ChannelBacklog] = [:]
    private var isTimerRunning = false

    init(of channels: ChannelService) {
        self.channels = channels
        context = channels.context
    }

    /// The number of backlogs with queued events.
    var count: Int { backlogs.count }

    /// Drops the queued events, when the shard has stopped.
    func dropPending() { backlogs = [:] }

    /// Adds an event to a backlog, or refuses it while memory is scarce.
    func enqueue(_ proposal: Proposal, in backlog: ChannelBacklog) {
        guard proposal.publisher.isRefusable, context.reactor.inbound.isFilling else {
            return backlog.append(proposal)
        }
        channels.outcomes.refuseLater(proposal, at: backlog.address)
    }

    /// Returns the channel's backlog; creates it if needed.
    private func openBacklog(of channel: Channel, at address: ChannelAddress) -> ChannelBacklog {
        if let backlog = channel.backlog { return backlog }
        let backlog = ChannelBacklog(of: address, context, delegate: self)
        channel.backlog = backlog
        return backlog
    }

    /// Starts or extends the channel's backlog because subscribers of this shard are congested.
    func record(on channel: Channel, at address: ChannelAddress) {
        let backlog = openBacklog(of: channel, at: address)
        guard !backlog.isCongestedHere else { return }
        backlog.isCongestedHere = true
        channel.notifyRelief(backlog)
        report(at: address, true)
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
        if channels.table[address]?.backlog?.isCongestedHere != true {
            report(at: address, false)
        }
    }

    private func report(at address: ChannelAddress, _ isCongested: Bool) {
        let home = context.home(of: address)
        guard home != context.shard else { return }
        context.links.send(
            .congestion(address, shard: context.shard, isCongested: isCongested),
            to: home
        )
    }

    /// At the home: records whether subscribers of another shard are congested.
    func set(at address: ChannelAddress, of shard: Int, _ isCongested: Bool) {
        guard let channel = channels.table[address] else { return }
        guard isCongested || channel.backlog != nil else { return }
        let backlog = openBacklog(of: channel, at: address)
        backlog.setCongestion(of: shard, isCongested)
        drain(backlog, of: channel)
    }

    /// Continues with a channel whose subscribers on this shard have caught up.
    func backlogIsRelieved(_ backlog: ChannelBacklog) {
        let address = backlog.address
        let channel = channels.table[address]
        guard let channel, channel.backlog === backlog else {
            // The channel was left meanwhile. If it has new, congested subscribers, these have been reported since.
            if backlog.isCongestedHere, channel?.backlog?.isCongestedHere != true {
                report(at: address, false)
            }
            return
        }
        if channel.isCongested { return channel.notifyRelief(backlog) }
        if backlog.isCongestedHere {
            backlog.isCongestedHere = false
            report(at: address, false)
        }
        drain(backlog, of: channel)
    }

    /// Sequences events of a backlog while there is room, and ends the backlog when it is empty.
    private func drain(_ backlog: ChannelBacklog, of channel: Channel) {
        var length = 0
        while !backlog.isCongested, let proposal = backlog.popFirst() {
            length += proposal.event.envelopeLength(for: channel.name)
            channels.sequence(proposal, on: channel, at: backlog.address)
            guard length < Self.drainedLengthMax else {
                // Other shards must confirm first that their subscribers have room.
                return context.reactor.relieve(backlog)
            }
        }
        if backlog.hasRoom { channel.backlog = nil }
    }

    /// Sequences all queued events of a channel without subscribers.
    func flush(_ channel: Channel, at address: ChannelAddress) {
        guard let backlog = channel.backlog.take() else { return }
        while let proposal = backlog.popFirst() {
            channels.sequence(proposal, on: channel, at: address)
        }
    }

    // MARK: - The time limit

    func backlogHasEvents(_ backlog: ChannelBacklog) {
        backlogs[ObjectIdentifier(backlog)] = backlog
        startTimer()
    }

    func backlogIsEmpty(_ backlog: ChannelBacklog) { backlogs[ObjectIdentifier(backlog)] = nil }

    private func startTimer() {
        guard !isTimerRunning, !backlogs.isEmpty else { return }
        isTimerRunning = true
        context.reactor.schedule(after: Self.expiryInterval, self)
    }

    /// Refuses the expired triggers.
    func timerFired(tag: Int) {
        isTimerRunning = false
        for backlog in backlogs.values {
            for proposal in backlog.removeExpired(at: context.reactor.now) {
                context.limitMet(.triggerTime, of: backlog.address.app)
                channels.outcomes.settle(proposal, .refused(.triggerTime), at: backlog.address)
            }
            if let channel = channels.table[backlog.address], channel.backlog === backlog {
                drain(backlog, of: channel)
            }
        }
        startTimer()
    }
}
