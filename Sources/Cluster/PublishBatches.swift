import Primitives
import RESP
import Redis
import Shard

// The messages of a turn, in batches; in a Redis Cluster each of one partition.
extension ClusterPublisher {
    /// The size of messages that do not wait for the answer to others, in bytes; Redis reads this much at a time.
    private static var fullLength: Int { 16_384 }

    /// Sends the messages of a turn to a store, and returns whether there were any.
    @discardableResult
    func sendMessages(to store: ClusterStore) -> Bool {
        guard store.isOpen, !store.outbox.isEmpty else { return false }
        // A busy store gets few large calls, which cost it and the node less than many small ones.
        guard store.unansweredBatchCount == 0 || store.outbox.byteCount >= Self.fullLength else {
            return false
        }
        while store.unansweredByteCount < partitions.settings.queuedBytesMax / 2,
            let batch = store.outbox.nextBatch(ofOnePartition: partitions.slots != nil)
        {
            let isSent = batch[0].isPlain ? sendPlainly(batch, to: store) : send(batch, to: store)
            guard isSent else {
                store.outbox.putBack(batch)
                break
            }
        }
        return true
    }

    private func send(_ batch: [OutgoingMessage], to store: ClusterStore) -> Bool {
        let parts = batch.parts
        let script = partitions[parts[0].partition].calls.scripts.publishing(
            parts.map { part in
                PartitionMessages(
                    partitions[part.partition].calls.keys,
                    part.messages.map(\.message)
                )
            },
            opens: batch[0].opens
        )
        return store.send(
            script,
            to: parts.count == 1 ? parts[0].partition : nil,
            as: PublishCall(publisher: self, messages: batch)
        )
    }

    /// Publishes messages that are not kept, without a script, which costs Redis three times as much.
    ///
    /// A node that has missed one finds another number in its partition's counter than before. Redis may execute calls
    /// of other nodes between those of a batch, so the counters change before and after the messages. A demoted server
    /// still publishes, but refuses to change a counter, so the last call proves that it is the primary.
    private func sendPlainly(_ messages: [OutgoingMessage], to store: ClusterStore) -> Bool {
        let batch = PlainBatch(messages)
        let (call, last) = (
            PlainCall(publisher: self, batch: batch, endsBatch: false),
            PlainCall(publisher: self, batch: batch, endsBatch: true)
        )
        let indices = messages.parts.map(\.partition)
        let command: StaticString = partitions.slots == nil ? "PUBLISH" : "SPUBLISH"
        guard changeCounters(of: indices, in: store, as: call) else { return false }
        for message in messages {
            let keys = partitions[message.partition].calls.keys
            let isSent = store.send(to: message.partition, as: call) {
                connection throws(RedisCallError) in
                try connection.call(argumentCount: 3) { writer in
                    writer.argument(literal: command)
                    writer.argument(keys.announcements(message.message.channel))
                    writer.argument(length: message.message.entry.count + 2) { bytes in
                        bytes.append("0 ")
                        bytes.append(contentsOf: message.message.entry)
                    }
                }
            }
            guard isSent else { return giveUp(messages) }
        }
        return changeCounters(of: indices, in: store, as: last) || giveUp(messages)
    }

    /// Sets the counters of partitions to a number that they have not had.
    ///
    /// One command sets all of them; incrementing would take a command for each.
    private func changeCounters(
        of indices: [Int],
        in store: ClusterStore,
        as call: PlainCall
    ) -> Bool {
        // Scripts increment it, and their numbers are exact up to 2⁵³.
        let number = Int(store.random() >> 12)
        let partition = indices.count == 1 ? indices[0] : nil
        return store.send(to: partition, as: call) { connection throws(RedisCallError) in
            try connection.call(argumentCount: 1 + 2 * indices.count) { writer in
                writer.argument(literal: "MSET")
                for index in indices {
                    writer.argument(partitions[index].calls.keys.counter)
                    writer.argument(number)
                }
            }
        }
    }

    /// Called when the connection ends between the parts of a batch, some of which may have been sent.
    private func giveUp(_ messages: [OutgoingMessage]) -> Bool {
        for message in messages { refuse(message, .unanswered) }
        return true
    }
}
