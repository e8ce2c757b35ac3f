import Broker
import Net
import Primitives
import RESP
import Redis

// Publishing: the messages of a turn, in batches; in a Redis Cluster each of one partition.
extension ClusterStore {
    /// The size of the waiting and the unanswered messages, in bytes.
    var waitingByteCount: Int { outbox.byteCount + unansweredByteCount }

    private var unansweredByteCount: Int { connection?.unansweredBytes ?? 0 }

    /// The size of messages that do not wait for the answer to others, in bytes; Redis reads this much at a time.
    private static var fullLength: Int { 16_384 }

    /// Sends the messages of a turn, and returns whether there were any.
    @discardableResult
    func sendMessages() -> Bool {
        guard isOpen, !outbox.isEmpty else { return false }
        // A busy store gets few large calls, which cost it and the node less than many small ones.
        guard unansweredBatchCount == 0 || outbox.byteCount >= Self.fullLength else { return false }
        while unansweredByteCount < settings.queuedBytesMax / 2,
            let batch = outbox.nextBatch(ofOnePartition: home.partitions.slots != nil)
        {
            let isSent = batch[0].isPlain ? sendPlainly(batch) : sendScript(batch)
            guard isSent else {
                outbox.putBack(batch)
                break
            }
        }
        return true
    }

    private func sendScript(_ batch: [OutgoingMessage]) -> Bool {
        let parts = batch.parts
        let script = home.partitions[parts[0].partition].calls.scripts.publishing(
            parts.map { part in
                PartitionMessages(
                    home.partitions[part.partition].calls.keys,
                    part.messages.map(\.message)
                )
            },
            opens: batch[0].opens
        )
        return send(
            script,
            to: parts.count == 1 ? parts[0].partition : nil,
            as: PublishCall(publisher: home.publisher, messages: batch)
        )
    }

    /// Publishes messages that are not kept, without a script, which costs Redis three times as much.
    ///
    /// A node that has missed one finds another number in its partition's counter than before. Redis may execute calls
    /// of other nodes between those of a batch, so the counters change before and after the messages. A demoted server
    /// still publishes, but refuses to change a counter, so the last call proves that it is the primary.
    private func sendPlainly(_ messages: [OutgoingMessage]) -> Bool {
        let batch = PlainBatch(messages)
        func call(isLast: Bool) -> PlainCall {
            PlainCall(publisher: home.publisher, batch: batch, endsBatch: isLast)
        }
        let partitions = messages.parts.map(\.partition)
        let command: StaticString = home.partitions.slots == nil ? "PUBLISH" : "SPUBLISH"
        guard changeCounters(of: partitions, as: call(isLast: false)) else { return false }
        for message in messages {
            let keys = home.partitions[message.partition].calls.keys
            let isSent = send(to: message.partition, as: call(isLast: false)) {
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
        if context.faults.contains(.trustsPublish) { return ping(call(isLast: true)) }
        return changeCounters(of: partitions, as: call(isLast: true)) || giveUp(messages)
    }

    /// Sets the counters of partitions to a number that they have not had.
    ///
    /// One command sets all of them; incrementing would take a command for each.
    private func changeCounters(of partitions: [Int], as call: any StoreCall) -> Bool {
        // Scripts increment it, and their numbers are exact up to 2⁵³.
        let number = Int(random() >> 12)
        let partition = partitions.count == 1 ? partitions[0] : nil
        return send(to: partition, as: call) { connection throws(RedisCallError) in
            try connection.call(argumentCount: 1 + 2 * partitions.count) { writer in
                writer.argument(literal: "MSET")
                for partition in partitions {
                    writer.argument(home.partitions[partition].calls.keys.counter)
                    writer.argument(number)
                }
            }
        }
    }

    /// Injected fault: a call that any server answers.
    private func ping(_ call: any StoreCall) -> Bool {
        send(["PING"], to: nil, as: call)
    }

    /// Called when the connection ends between the parts of a batch, some of which may have been sent.
    private func giveUp(_ messages: [OutgoingMessage]) -> Bool {
        for message in messages { home.publisher.refuse(message, .unanswered) }
        return true
    }

    /// Called when a channel continues in another stream: later messages stay after those that Redis may refuse because
    /// of it.
    func streamChanged(of address: ChannelAddress) {
        guard outbox.contains(address) || isUnanswered(address) else { return }
        outbox.hold(address)
    }

    /// Whether a message of a channel is unanswered.
    func isUnanswered(_ address: ChannelAddress) -> Bool {
        calls.values.contains { unanswered in
            unanswered.call.messages.contains { $0.address == address && !$0.isPlain }
        }
    }
}
