package import Net

/// One shard's links to all shards.
///
/// What is said in a turn leaves together at its end: one wake for the shard that hears it, which then has the whole
/// burst in one turn too and sends each of its subscribers all of it at once.
package struct ShardLinks {
    /// The shard that speaks, and hears what the others say to it.
    let shard: Int
    /// Where the shards hear what this one says to them.
    private let mailboxes: [Mailbox<ShardMessage>]
    /// Where this one hears what the others say.
    private let inbox: Mailbox<ShardMessage>
    private var unsent: [[ShardMessage]]
    /// The events among the unsent messages to each shard.
    private var unsentEventCounts: [Int]
    private var isUnsent = false

    /// The links of shard number `shard`, its index among the mailboxes of all shards.
    init(of shard: Int, mailboxes: [Mailbox<ShardMessage>]) {
        self.init(of: shard, speakingInto: mailboxes, hearing: mailboxes[shard])
    }

    /// The links of shard number `shard` where what it says is held up on its way: in a simulation.
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

    /// Whether some shard has more than `limit` events to read.
    ///
    /// Subscriptions, questions and whatever else is no event do not count: they must not keep anybody from publishing.
    func areBehind(limit: Int) -> Bool { mailboxes.contains { $0.weight > limit } }

    /// Says something to another shard.
    mutating func send(_ message: ShardMessage, to shard: Int) {
        if message.isEvent { unsentEventCounts[shard] += 1 }
        unsent[shard].append(message)
        isUnsent = true
    }

    /// The most messages that a shard handles for another one whose thread sleeps.
    private static var assistedCountMax: Int { 8 }

    /// Hands over what was said since the last time.
    ///
    /// - Parameter assists: Whether a few events may be handled on this thread for a shard whose thread sleeps.
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

    /// Takes what the others have said.
    func read() -> [ShardMessage] { inbox.drain() }
}
