import Primitives
import RESP
import Redis

/// A command that reads something of a partition, of any length.
struct ClusterRead {
    /// The index of the partition among those of the shard.
    let partition: Int
    let command: [String]
    /// What the reply is for.
    let purpose: ClusterHome.Call
}

/// The reads over one connection: those that are unanswered, and those that wait for their turn.
///
/// Redis executes at once what it has received, and closes a connection for which more waits than its
/// `client-output-buffer-limit` permits: 32 MB by default, if the connection has subscribed. Over the next one the same would be
/// asked for again, and end that one, too. So the first read is alone, each answer permits one more, and as many are unanswered
/// as fit in ``bytesMax`` if each is as long as the longest of the last ones.
struct ReadQueue {
    /// The maximum size of the unanswered reads, as far as it can be foreseen, in bytes.
    static var bytesMax: Int { 16 << 20 }
    /// The maximum number of unanswered reads.
    static var countMax: Int { 256 }

    private var waiting = Queue<ClusterRead>()
    private var unansweredCount = 0
    private var permittedCount = 1
    /// The size of the longest of the last answers, in bytes; an answer counts for less with each one that follows.
    private var longest = 0

    /// The next read, if one more may be unanswered.
    var next: ClusterRead? { unansweredCount < permittedCount ? waiting.first : nil }

    /// Whether a read in a partition waits for its turn.
    func areWaiting(in partition: Int) -> Bool {
        waiting.elements.contains { $0.partition == partition }
    }

    mutating func append(_ read: ClusterRead) { waiting.append(read) }

    /// Called when the next read is sent.
    mutating func sentNext() {
        waiting.removeFirst()
        unansweredCount += 1
    }

    /// Called when a read is answered.
    mutating func answered(byteCount: Int) {
        unansweredCount -= 1
        longest = max(byteCount, longest - longest / 16)
        let fitting = max(1, Self.bytesMax / max(longest, 1))
        permittedCount = min(permittedCount + 1, fitting, Self.countMax)
    }

    /// Forgets everything, with the connection.
    ///
    /// - Returns: What the reads were for that have not had their turn.
    mutating func removeAll() -> [ClusterHome.Call] {
        defer { self = ReadQueue() }
        return waiting.elements.map(\.purpose)
    }
}

extension ClusterStore {
    /// Sends a read as soon as the connection can take the answer.
    ///
    /// - Returns: Whether there is a connection. When it ends before the reply, the purpose is given up.
    func read(_ read: ClusterRead) -> Bool {
        guard isOpen else { return false }
        reads.append(read)
        sendReads()
        return true
    }

    /// Called when a call is answered.
    func readAnswered(_ call: Unanswered, _ reply: borrowing RESPView) {
        guard call.isRead else { return }
        reads.answered(byteCount: reply.byteCount)
        sendReads()
    }

    private func sendReads() {
        while let read = reads.next {
            let isSent = send(to: read.partition, as: read.purpose, isRead: true) {
                connection throws(RedisCallError) in
                try connection.call(read.command)
            }
            // The end of the connection takes what waits.
            guard isSent else { return }
            reads.sentNext()
        }
    }
}
