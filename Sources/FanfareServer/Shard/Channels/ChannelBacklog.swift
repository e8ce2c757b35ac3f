import Broker
import Net
import PusherProtocol

/// The events of a congested channel that its home has not put in order yet, and where the channel is congested.
///
/// A channel has a backlog only while its subscribers take events more slowly than these come. Until they have caught up,
/// the home leaves new events here, unanswered, so that their publishers wait: what it has put in order stays little, and no
/// subscriber that reads is sent more than it can take. At other shards it stands for the congestion alone.
final class ChannelBacklog: ReliefTarget {
    /// An event that waits, and whom to tell.
    enum Event {
        case publication(Publication, Origin)
        case clientEvent(ClientEvent, ClientEventAuthor)

        /// The length of the message to the subscribers, about, in bytes.
        func length(on channel: ChannelName) -> Int {
            switch self {
            case .publication(let publication, _): publication.envelopeLength(for: channel)
            case .clientEvent(let event, _): event.envelopeLength(for: channel)
            }
        }
    }

    /// Where the request was received.
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
    /// Whether subscribers of this shard are why.
    var isCongestedHere = false
    /// The other shards whose subscribers are why.
    private var congestedShards: Set<Int> = []
    private var entries: [Entry] = []
    /// The index of the first entry that waits.
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

    /// Whether some subscribers have not caught up.
    var isCongested: Bool { isCongestedHere || !congestedShards.isEmpty }

    /// Whether an event may be put in order at once, without overtaking another.
    var hasRoom: Bool { !isCongested && isEmpty }

    /// Whether no event waits.
    var isEmpty: Bool { first == entries.count }

    /// Records whether subscribers of another shard are congested.
    func setCongestion(of shard: Int, _ isCongested: Bool) {
        if isCongested { congestedShards.insert(shard) } else { congestedShards.remove(shard) }
    }

    /// Adds an event behind the others.
    func append(_ event: Event) {
        if isEmpty { delegate.backlogHasEvents(self) }
        let deadline = context.reactor.now.advanced(
            by: context.settings.triggerTimeout
        )
        entries.append(Entry(event: event, deadline: deadline))
        context.reactor.inbound.charge(event.length(on: address.name))
    }

    /// Takes the first event.
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

    /// Removes the events of triggers that have waited too long and publish nothing else.
    func takeExpired(at now: MonotonicTime) -> [Origin] {
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
