import Broker
import PusherProtocol

/// The entries that one shard holds until the archive has written them: the messages of its stored channels, followed
/// by everything else that concerns these channels.
///
/// There is one queue in the order of the home's decisions. So everything about a channel happens as if the home had
/// decided it when it is released.
final class CommitQueue {
    /// A message with its serial, which no client has received yet.
    ///
    /// A class, so that it passes through the queue without copies of the objects that it refers to.
    final class Message {
        let proposal: Proposal
        let sent: ChannelMessage
        /// The index of the stream.
        let stream: Int
        /// When it got its serial, in milliseconds of the loop's clock.
        let time: Int64

        init(_ proposal: Proposal, _ sent: ChannelMessage, in stream: Int, at time: Int64) {
            self.proposal = proposal
            self.sent = sent
            self.stream = stream
            self.time = time
        }
    }

    /// The content of an entry.
    enum Content {
        case message(Message)
        /// A stream was made, whose ID no client has received yet.
        case opening(stream: Int)
        /// A request that is decided when all entries before it are released.
        case request(Request)
    }

    /// A request that waits for its turn.
    enum Request {
        case subscribe(SubscriptionRequest, Member?, PositionRequest?)
        case unsubscribe(SocketID, shard: Int)
        case publish(Proposal)
        /// Begin another stream.
        case purge((HomeAnswer) -> Void)
        /// Notify clients of the stream that a purge began.
        case restart((HomeAnswer) -> Void)

        /// Whether later events of the channel wait for its decision.
        var isEvent: Bool {
            switch self {
            case .subscribe, .unsubscribe, .restart: false
            case .publish, .purge: true
            }
        }
    }

    /// A held entry, and its channel.
    struct Entry {
        let address: ChannelAddress
        let content: Content
        /// The group whose confirmation releases it.
        let group: UInt64
    }

    /// The held entries of one channel.
    private struct Held {
        private(set) var count = 0
        private(set) var messageCount = 0
        private(set) var eventRequestCount = 0
        private(set) var keys: Set<IdempotencyKey> = []

        mutating func add(_ content: Content) {
            count += 1
            switch content {
            case .message(let message):
                messageCount += 1
                if let key = message.proposal.event.key { keys.insert(key) }
            case .request(let request) where request.isEvent: eventRequestCount += 1
            case .request, .opening: break
            }
        }

        mutating func remove(_ content: Content) {
            count -= 1
            switch content {
            case .message(let message):
                messageCount -= 1
                if let key = message.proposal.event.key { keys.remove(key) }
            case .request(let request) where request.isEvent: eventRequestCount -= 1
            case .request, .opening: break
            }
        }
    }

    let archive: any MessageArchive
    /// Whether entries are being released; a decision then does not wait for later entries.
    var isReleasing = false
    /// Whether the broker continues in memory while the archive fails.
    let continuesInMemory: Bool
    private let shard: Int
    private var entries: [Entry] = []
    private var head = 0
    private var held: [ChannelAddress: Held] = [:]
    private var changes: [ArchiveChange] = []
    /// The streams to be dropped from the archive, and those whose group is not confirmed.
    private var forgotten: [Int64] = []
    private var unconfirmed: [(group: UInt64, rows: [Int64])] = []
    private var isDurable = false
    /// The number of the group that is being filled.
    private var group: UInt64 = 1
    private var epoch: UInt64 = 0

    init(_ archive: any MessageArchive, shard: Int, continuesInMemory: Bool) {
        self.archive = archive
        self.shard = shard
        self.continuesInMemory = continuesInMemory
    }

    /// The number of entries.
    var count: Int { entries.count - head }

    // MARK: - Channels

    /// Whether a request about a channel has to wait for held entries.
    func mustWait(at address: ChannelAddress) -> Bool {
        !isReleasing && !held.isEmpty && held[address] != nil
    }

    /// Whether an event has to wait to be decided.
    ///
    /// It waits for earlier messages if it depends on them or one has its key, and for earlier events that are not
    /// decided yet. Most events do not wait: they get their serials at once, and are written together with earlier
    /// events.
    func mustWait(
        _ event: ProposedEvent,
        _ isNumbered: @autoclosure () -> Bool,
        at address: ChannelAddress
    ) -> Bool {
        guard !held.isEmpty, let held = held[address] else { return false }
        let isBound =
            !isNumbered() || event.ifPosition != nil
            || event.key.map { held.keys.contains($0) } == true
        // At the head of the queue, only messages that got their serials meanwhile precede it.
        if isReleasing { return isBound && held.messageCount > 0 }
        return isBound || held.eventRequestCount > 0 || archive.isFailing
    }

    // MARK: - Entries

    /// Holds a message until its change is written.
    ///
    /// `opening` is the stream's record, if the archive needs it first. A durable message must survive a loss of power
    /// before it is released.
    func append(
        _ message: Message,
        on address: ChannelAddress,
        opening: StoredStream?,
        _ change: ArchiveChange,
        isDurable: Bool
    ) {
        if let opening { changes.append(.open(opening)) }
        changes.append(change)
        if isDurable { self.isDurable = true }
        archive.addUnstored(message.sent.envelope.byteCount)
        append(.message(message), on: address)
    }

    /// Holds the ID of a new stream.
    func append(opening stream: Int, on address: ChannelAddress, _ change: ArchiveChange) {
        changes.append(change)
        append(.opening(stream: stream), on: address)
    }

    /// Holds a request.
    func append(_ request: Request, on address: ChannelAddress) {
        append(.request(request), on: address)
    }

    private func append(_ content: Content, on address: ChannelAddress) {
        held[address, default: Held()].add(content)
        // A request after the last posted group needs no other group; there may be none.
        let last = changes.isEmpty ? group - 1 : group
        entries.append(Entry(address: address, content: content, group: last))
    }

    /// Removes and returns the first entry, if its group is confirmed.
    func popFirst(confirmed group: UInt64) -> Entry? {
        guard head < entries.count, entries[head].group <= group else { return nil }
        let entry = entries[head]
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: head <= 256)
            head = 0
        } else if head >= 256, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        release(entry)
        return entry
    }

    private func release(_ entry: Entry) {
        if case .message(let message) = entry.content {
            archive.addUnstored(-message.sent.envelope.byteCount)
        }
        guard let index = held.index(forKey: entry.address) else { return }
        held.values[index].remove(entry.content)
        if held.values[index].count == 0 { held.remove(at: index) }
    }

    /// Drops everything when the shard has stopped, because waiting publishers refer to the shard.
    func dropAll() {
        (entries, head, held, changes) = ([], 0, [:], [])
    }

    // MARK: - Groups

    /// Makes the archive drop streams as soon as it can be written.
    func forget(_ rows: [Int64]) { forgotten += rows }

    /// Posts the changes of this turn.
    func dispatch() {
        if !forgotten.isEmpty, !archive.isFailing {
            changes += forgotten.map { .forget(row: $0) }
            unconfirmed.append((group, exchange(&forgotten, with: [])))
        }
        guard !changes.isEmpty else { return }
        archive.post(
            .commit(
                ArchiveGroup(
                    shard: shard,
                    epoch: epoch,
                    number: group,
                    changes: exchange(&changes, with: []),
                    isDurable: exchange(&isDurable, with: false)
                )
            )
        )
        group += 1
    }

    /// Called when groups are written.
    func confirm(_ group: UInt64) {
        guard !unconfirmed.isEmpty else { return }
        unconfirmed.removeAll { $0.group <= group }
    }

    /// Abandons everything that is not confirmed.
    ///
    /// - Parameter epoch: The epoch that has failed.
    /// - Returns: All entries, in order; none if that epoch is already over.
    func fail(epoch: UInt64) -> [Entry] {
        guard epoch == self.epoch else { return [] }
        self.epoch += 1
        forgotten = unconfirmed.flatMap(\.rows) + forgotten
        (unconfirmed, changes) = ([], [])
        isDurable = false
        let failed = Array(entries[head...])
        (entries, head) = ([], 0)
        for entry in failed { release(entry) }
        held = [:]
        return failed
    }
}
