package import Net

/// The links of one shard to all shards.
///
/// The messages of a turn are sent together at its end. The receiving shard is woken once and processes the whole burst
/// in one turn. So each of its subscribers gets all of it at once.
package struct ShardLinks {
    /// The number of this shard.
    let shard: Int
    /// The inboxes of all shards.
    private let mailboxes: [Mailbox<ShardMessage>]
    /// The inbox of this shard.
    private let inbox: Mailbox<ShardMessage>
    private var unsent: [[ShardMessage]]
    /// The number of events among the unsent messages to each shard.
    private var unsentEventCounts: [Int]
    private var isUnsent = false

    /// Creates the links of shard number `shard`, its index among the mailboxes of all shards.
    package init(of shard: Int, mailboxes: [Mailbox<ShardMessage>]) {
        self.init(of: shard, speakingInto: mailboxes, hearing: mailboxes[shard])
    }

    /// Creates the links of shard number `shard` with separate mailboxes for sending and receiving, to delay messages
    /// in a simulation.
    package init(
        of shard: Int,
        speakingInto mailboxes: [Mailbox<ShardMessage>],
        hearing inbox: Mailbox<ShardMessage>
    ) {
        self.shard = shard
        self.mailboxes = mailboxes
        self.inbox = inbox
        unsent = Array(repeating: [], count: mailboxes.count)
        unsentEventCounts = Array(repeating: 0, count: mailboxes.count)
    }

    /// The number of shards.
    var count: Int { mailboxes.count }

    /// Whether any shard has more than `limit` events to process.
    ///
    /// Other messages, such as subscriptions and queries, do not count: they must not block publishing.
    func areBehind(limit: Int) -> Bool { mailboxes.contains { $0.weight > limit } }

    /// Queues a message to another shard.
    package mutating func send(_ message: ShardMessage, to shard: Int) {
        if message.isEvent { unsentEventCounts[shard] += 1 }
        unsent[shard].append(message)
        isUnsent = true
    }

    /// The maximum number of messages that a shard processes for another one whose thread sleeps.
    private static var assistedCountMax: Int { 8 }

    /// Sends the queued messages; `assists` if this thread may process a few events for a shard whose thread sleeps.
    mutating func dispatch(assists: Bool = false) {
        guard isUnsent else { return }
        isUnsent = false
        for shard in unsent.indices where !unsent[shard].isEmpty {
            let eventCount = exchange(&unsentEventCounts[shard], with: 0)
            let isLittle =
                assists && unsent[shard].count <= Self.assistedCountMax
                && unsent[shard].allSatisfy(\.isBrief)
            mailboxes[shard].post(unsent[shard], weight: eventCount, assists: isLittle)
            unsent[shard].removeAll(keepingCapacity: unsent[shard].count <= 256)
        }
    }

    /// Removes and returns the received messages.
    func read() -> [ShardMessage] { inbox.drain() }
}
