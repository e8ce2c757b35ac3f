import Broker
import Net
import PusherProtocol

/// The events of a congested channel that its home has not sequenced yet, and the shards on which it is congested.
///
/// A channel has a backlog only while its subscribers are slower than its events. Until they have caught up, the home
/// keeps new events here, unanswered, so that their publishers wait. So the number of sequenced events stays small, and
/// a subscriber that reads is not sent more than it can take. On other shards the backlog only records the congestion.
final class ChannelBacklog: ReliefTarget {
    private struct Entry {
        let proposal: Proposal
        let deadline: MonotonicTime
    }

    let address: ChannelAddress
    private let context: ShardContext
    private unowned let delegate: any ChannelBacklogDelegate
    /// Whether subscribers of this shard are congested.
    var isCongestedHere = false
    /// The other shards whose subscribers are congested.
    private var congestedShards: Set<Int> = []
    private var entries: [Entry] = []
    /// The index of the first queued entry.
    private var first = 0

    init(
        of address: ChannelAddress,
        _ context: ShardContext,
        delegate: any ChannelBacklogDelegate
    ) {
        self.address = address
        self.context = context
        self.delegate = delegate
    }

    /// Whether subscribers of any shard are congested.
    var isCongested: Bool { isCongestedHere || !congestedShards.isEmpty }

    /// Whether an event may be sequenced at once, without overtaking another.
    var hasRoom: Bool { !isCongested && isEmpty }

    /// Whether no event is queued.
    var isEmpty: Bool { first == entries.count }

    /// Records whether subscribers of another shard are congested.
    func setCongestion(of shard: Int, _ isCongested: Bool) {
        if isCongested { congestedShards.insert(shard) } else { congestedShards.remove(shard) }
    }

    /// Appends an event.
    func append(_ proposal: Proposal) {
        if isEmpty { delegate.backlogHasEvents(self) }
        let deadline = context.reactor.now.advanced(
            by: context.settings.triggerTimeout
        )
        entries.append(Entry(proposal: proposal, deadline: deadline))
        context.reactor.inbound.charge(length(of: proposal))
    }

    /// Removes and returns the first event.
    func popFirst() -> Proposal? {
        guard !isEmpty else { return nil }
        let proposal = entries[first].proposal
        first += 1
        if isEmpty {
            entries = []
            first = 0
            delegate.backlogIsEmpty(self)
        } else if first >= 64, first * 2 >= entries.count {
            entries.removeFirst(first)
            first = 0
        }
        context.reactor.inbound.refund(length(of: proposal))
        return proposal
    }

    /// The length of the message to the subscribers, without its serial, in bytes.
    private func length(of proposal: Proposal) -> Int {
        proposal.event.envelopeLength(for: address.name)
    }

    /// Removes and returns the expired triggers that may be refused.
    func removeExpired(at now: MonotonicTime) -> [Proposal] {
        var expired: [Proposal] = []
        var kept: [Entry] = []
        for entry in entries[first...] {
            if entry.deadline <= now, entry.proposal.publisher.isRefusable {
                context.reactor.inbound.refund(length(of: entry.proposal))
                expired.append(entry.proposal)
            } else {
                kept.append(entry)
            }
        }
        guard !expired.isEmpty else { return [] }
        entries = kept
        first = 0
        if isEmpty { delegate.backlogIsEmpty(self) }
        return expired
    }

    func groupRelieved() { delegate.backlogIsRelieved(self) }
}

/// Processes the events of backlogs.
protocol ChannelBacklogDelegate: AnyObject {
    /// Called when a backlog has its first event.
    func backlogHasEvents(_ backlog: ChannelBacklog)

    /// Called when a backlog has no event left.
    func backlogIsEmpty(_ backlog: ChannelBacklog)

    /// Called when the channel's subscribers of this shard may have caught up.
    func backlogIsRelieved(_ backlog: ChannelBacklog)
}
