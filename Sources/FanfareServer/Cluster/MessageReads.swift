import Primitives
import RESP
import Redis

/// A read of messages of a channel.
struct MessageRead {
    let remote: RemoteChannel
    /// Where to begin, in the words of `XRANGE`.
    let first: String
    /// Where to end.
    let last: String
    /// What the reply is for.
    let purpose: ClusterHome.Call
}

/// The reads of messages over one connection: those that are unanswered, and those that wait for their turn.
///
/// Redis executes at once what it has received, and closes a connection for which more waits than its
/// `client-output-buffer-limit` permits: 32 MB by default, if the connection has subscribed. Over the next one the same would be
/// asked for again, and end that one, too. So the first read is alone, each answer permits one more, and as many are unanswered
/// as fit in ``bytesMax`` if each is as long as the longest of the last ones.
struct MessageReads {
    /// The maximum size of the unanswered reads, as far as it can be foreseen, in bytes.
    static var bytesMax: Int { 16 << 20 }
    /// The maximum number of unanswered reads.
    static var countMax: Int { 256 }

    private var waiting = Queue<MessageRead>()
    private var unansweredCount = 0
    private var permittedCount = 1
    /// The size of the longest of the last answers, in bytes; an answer counts for less with each one that follows.
    private var longest = 0

    /// The next read, if one more may be unanswered.
    var next: MessageRead? { unansweredCount < permittedCount ? waiting.first : nil }

    /// Whether a read in a partition waits for its turn.
    func areWaiting(in partition: Int) -> Bool {
        waiting.elements.contains { $0.remote.partition == partition }
    }

    mutating func append(_ read: MessageRead) { waiting.append(read) }

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
        defer { self = MessageReads() }
        return waiting.elements.map(\.purpose)
    }
}

extension ClusterStore {
    /// Reads messages, as soon as the connection can take the answer.
    func read(_ read: MessageRead) {
        reads.append(read)
        sendReads()
    }

    /// Called when a call is answered.
    func readAnswered(_ purpose: ClusterHome.Call, _ reply: borrowing RESPView) {
        guard purpose.isMessageRead else { return }
        reads.answered(byteCount: reply.byteCount)
        sendReads()
    }

    private func sendReads() {
        while let read = reads.next {
            let (remote, countMax) = (read.remote, home.messagesMax(of: read.remote))
            let key = home.calls(of: remote).keys.messages(remote.channel)
            let isSent = send(to: remote.partition, as: read.purpose) {
                connection throws(RedisCallError) in
                try connection.call(argumentCount: 6) { writer in
                    writer.argument(literal: "XRANGE")
                    writer.argument(key)
                    writer.argument(read.first)
                    writer.argument(read.last)
                    writer.argument(literal: "COUNT")
                    writer.argument(countMax)
                }
            }
            // The end of the connection takes what waits.
            guard isSent else { return }
            reads.sentNext()
        }
    }
}
