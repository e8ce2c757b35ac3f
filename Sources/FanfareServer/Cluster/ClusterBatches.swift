import Broker
import Net
import Primitives
import RESP
import Redis

// Publishing: the messages of a turn, in batches of one partition each.
extension ClusterStore {
    /// The size of what waits to be sent, and of what is not answered, in bytes.
    var waitingByteCount: Int { outbox.byteCount + unansweredByteCount }

    private var unansweredByteCount: Int { connection?.unansweredBytes ?? 0 }

    /// Sends the messages of a turn.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    func sendMessages() -> Bool {
        guard isOpen, !outbox.isEmpty else { return false }
        while unansweredByteCount < settings.queuedBytesMax / 2,
            let batch = outbox.nextBatch()
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
        let calls = home.partitions[batch[0].partition].calls
        return send(
            calls.publish(batch.map(\.message), opens: batch[0].opens),
            to: batch[0].partition,
            as: .publish(batch)
        )
    }

    /// Publishes messages of which nothing is kept: without a script, which costs Redis three times as much.
    ///
    /// A demoted server still publishes, so a write behind the messages has to prove that it is the primary.
    private func sendPlainly(_ messages: [OutgoingMessage]) -> Bool {
        let batch = PlainBatch(messages)
        let partition = messages[0].partition
        let command: StaticString = home.slots == nil ? "PUBLISH" : "SPUBLISH"
        let keys = home.partitions[partition].calls.keys
        func count(_ number: Int, _ purpose: ClusterHome.Call) -> Bool {
            send(to: partition, as: purpose) { connection throws(RedisCallError) in
                try connection.call(argumentCount: 3) { writer in
                    writer.argument(literal: "INCRBY")
                    writer.argument(keys.counter)
                    writer.argument(number)
                }
            }
        }
        guard count(messages.count, .plainPart(batch)) else { return false }
        for message in messages {
            let isSent = send(to: partition, as: .plainPart(batch)) {
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
        if context.faults.contains(.trustsPublish) { return ping(.plainEnd(batch)) }
        return count(0, .plainEnd(batch)) || giveUp(messages)
    }

    /// Injected fault: a call that any server answers.
    private func ping(_ purpose: ClusterHome.Call) -> Bool {
        send(["PING"], to: nil, as: purpose)
    }

    /// Called when the connection ends between the parts of a batch, of which some may be on their way.
    private func giveUp(_ messages: [OutgoingMessage]) -> Bool {
        for message in messages { home.refuse(message, .unanswered) }
        return true
    }

    /// Called when a channel goes on in another stream: what is published from now on stays behind what Redis may refuse for it.
    func streamChanged(of address: ChannelAddress) {
        guard outbox.contains(address) || isUnanswered(address) else { return }
        outbox.hold(address)
    }

    /// Whether a message of a channel is unanswered.
    func isUnanswered(_ address: ChannelAddress) -> Bool {
        calls.values.contains { call in
            guard case .publish(let messages) = call.purpose else { return false }
            return messages.contains { $0.address == address }
        }
    }
}

extension ClusterHome {
    /// Sends the messages of a turn.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    func sendMessages() -> Bool {
        var wereAny = false
        for store in stores {
            if store.sendMessages() { wereAny = true }
            if store.replicas?.request() == true { wereAny = true }
        }
        return wereAny
    }

    /// The number of messages that wait for Redis, or for its replicas.
    var waitingMessageCount: Int {
        stores.reduce(0) { count, store in
            count + store.outbox.count + (store.replicas?.count ?? 0)
                + (store.transit?.returned.count ?? 0)
        }
    }
}
