import Broker
import BrokerConfiguration
import Net
import PusherProtocol

/// The events of a congested channel that its home has not sequenced yet, and the shards on which it is congested.
///
/// A channel has a backlog only while its subscribers are slower than its events. Until they have caught up, the home
/// keeps new events here, unanswered, so that their publishers wait. So the number of sequenced events stays small, and
/// a subscriber that reads is not sent more than it can take. On other shards the backlog only records the congestion.
final class ChannelBacklog: ReliefTarget {
    /// A queued event, and where to report its outcome.
    enum Event {
        case publication(Publication, Origin)
        case clientEvent(ClientEvent, ClientEventAuthor)

        /// The approximate length of the message to the subscribers, in bytes.
        func length(on channel: ChannelName) -> Int {
            switch self {
            case .publication(let publication, _): publication.envelopeLength(for: channel)
            case .clientEvent(let event, _): event.envelopeLength(for: channel)
            }
        }
    }

    /// The shard that received the request.
    enum Origin {
        case here(PendingTrigger)
        case elsewhere(PublishReceipt)

        var isRefusable: Bool {
            switch self {
            case .here(let trigger): trigger.isRefusable
            case .elsewhere(let receipt): receipt.isRefusable
            }
        }
    }

    private struct Entry {
        let event: Event
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
    func append(_ event: Event) {
        if isEmpty { delegate.backlogHasEvents(self) }
        let deadline = context.reactor.now.advanced(
            by: context.settings.configuration.triggerTimeout
        )
        entries.append(Entry(event: event, deadline: deadline))
        context.reactor.inbound.charge(event.length(on: address.name))
    }

    /// Removes and returns the first event.
    func popFirst() -> Event? {
        guard !isEmpty else { return nil }
        let event = entries[first].event
        first += 1
        if isEmpty {
            entries = []
            first = 0
            delegate.backlogIsEmpty(self)
        } else if first >= 64, first * 2 >= entries.count {
            entries.removeFirst(first)
            first = 0
        }
        context.reactor.inbound.refund(event.length(on: address.name))
        return event
    }

    /// Removes the expired triggers that may be refused, and returns their origins.
    func removeExpired(at now: MonotonicTime) -> [Origin] {
        var expired: [Origin] = []
        var kept: [Entry] = []
        for entry in entries[first...] {
            if entry.deadline <= now, case .publication(_, let origin) = entry.event,
                origin.isRefusable
            {
                context.reactor.inbound.refund(entry.event.length(on: address.name))
                expired.append(origin)
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
