import Primitives
import RESP
import Redis

/// A command that reads data of a partition, of any length.
struct ClusterRead {
    /// The index of the partition among those of the shard.
    let partition: Int
    let command: [String]
    /// Who gets the reply.
    let call: any StoreCall
}

/// The reads over one connection: unanswered ones, and those that wait for their turn.
///
/// Redis executes at once what it has received. It closes a connection whose waiting output exceeds its
/// `client-output-buffer-limit`, by default 32 MB if the connection has subscribed. The next connection would request
/// the same data, and end for the same reason. So the first read is sent alone, and each answer permits one more. As
/// many are unanswered as fit in ``bytesMax`` if each is as long as the longest of the last ones.
struct ReadQueue {
    /// The expected maximum size of the unanswered reads, in bytes.
    static var bytesMax: Int { 16 << 20 }
    /// The maximum number of unanswered reads.
    static var countMax: Int { 256 }

    private var waiting = Queue<ClusterRead>()
    private var unansweredCount = 0
    private var permittedCount = 1
    /// The size of the longest of the last answers, in bytes; an answer counts for less with each later one.
    private var longest = 0

    /// The next read, if another one may be sent.
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

    /// Forgets everything when the connection ends, and returns the reads that were not sent.
    mutating func removeAll() -> [any StoreCall] {
        defer { self = ReadQueue() }
        return waiting.elements.map(\.call)
    }
}

extension ClusterStore {
    /// Sends a read as soon as the connection can take the answer.
    ///
    /// - Returns: Whether there is a connection. When it ends before the reply, the call is abandoned.
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
            let isSent = send(to: read.partition, as: read.call, isRead: true) {
                connection throws(RedisCallError) in
                try connection.call(read.command)
            }
            // The end of the connection handles what waits.
            guard isSent else { return }
            reads.sentNext()
        }
    }
}
