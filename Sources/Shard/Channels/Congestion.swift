import Broker
import Net
import PusherProtocol

/// The handling of congested channels, whose subscribers are slower than their events.
///
/// New events are queued in the channel's backlog at its home, and their publishers wait for the answer.
extension ChannelService: ChannelBacklogDelegate {
    /// Adds an event to a backlog, or refuses it while memory is scarce.
    func enqueue(_ proposal: Proposal, in backlog: ChannelBacklog) {
        guard proposal.publisher.isRefusable, context.reactor.inbound.isFilling else {
            return backlog.append(proposal)
        }
        refuseLater(proposal, at: backlog.address)
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
        while !backlog.isCongested, let proposal = backlog.popFirst() {
            length += proposal.event.envelopeLength(for: channel.name)
            sequence(proposal, on: channel, at: backlog.address)
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
        while let proposal = backlog.popFirst() { sequence(proposal, on: channel, at: address) }
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
            for proposal in backlog.removeExpired(at: context.reactor.now) {
                context.limitMet(.triggerTime, of: backlog.address.app)
                settle(proposal, .refused(.triggerTime), at: backlog.address)
            }
            if let channel = table[backlog.address], channel.backlog === backlog {
                drain(backlog, of: channel)
            }
        }
    }
}
