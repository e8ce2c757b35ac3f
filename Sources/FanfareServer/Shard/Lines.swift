import Net

/// One shard's lines to all shards.
///
/// What is said in a turn leaves together at its end: one wake for the shard that hears it, which then has the whole
/// burst in one turn too and sends each of its subscribers all of it at once.
struct Lines {
    /// The shard that speaks, and hears what the others say to it.
    let shard: Int
    /// Where the shards hear what this one says to them.
    private let mailboxes: [Mailbox<LineMessage>]
    /// Where this one hears what the others say.
    private let inbox: Mailbox<LineMessage>
    private var unsent: [[LineMessage]]
    private var isUnsent = false

    /// The lines of shard number `shard`, its index among the mailboxes of all shards.
    init(of shard: Int, mailboxes: [Mailbox<LineMessage>]) {
        self.init(of: shard, speakingInto: mailboxes, hearing: mailboxes[shard])
    }

    /// The lines of shard number `shard` where what it says is held up on its way: in a simulation.
    init(
        of shard: Int,
        speakingInto mailboxes: [Mailbox<LineMessage>],
        hearing inbox: Mailbox<LineMessage>
    ) {
        self.shard = shard
        self.mailboxes = mailboxes
        self.inbox = inbox
        unsent = Array(repeating: [], count: mailboxes.count)
    }

    /// The number of shards.
    var count: Int { mailboxes.count }

    /// Whether some shard has more than `limit` messages to read.
    func areBehind(limit: Int) -> Bool { mailboxes.contains { $0.count > limit } }

    /// Says something to another shard.
    mutating func say(_ message: LineMessage, to shard: Int) {
        unsent[shard].append(message)
        isUnsent = true
    }

    /// Hands over what was said since the last time.
    mutating func dispatch() {
        guard isUnsent else { return }
        isUnsent = false
        for shard in unsent.indices where !unsent[shard].isEmpty {
            mailboxes[shard].post(unsent[shard])
            unsent[shard].removeAll(keepingCapacity: unsent[shard].count <= 256)
        }
    }

    /// Takes what the others have said.
    func read() -> [LineMessage] { inbox.drain() }
}
