import Broker
import Net
import PusherProtocol
import RESP
import Redis

// Positions in streams that a failover of Redis has sealed: if nothing was lost, the present stream follows the rest of
// them.
extension ChannelReplays {
    /// Reads the messages of sealed streams that a subscription has missed.
    ///
    /// - Returns: Whether its position is in another stream than the present one, so that the subscription continues
    ///   later.
    func readFormer(
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        _ app: App
    ) -> Bool {
        guard subscription.former == nil, let current = remote.position,
            let issued = subscription.position?.position,
            let known = StreamPosition(
                app.position(issuedAs: issued, on: remote.address.name)
            ),
            known.stream > 0, known.stream < current.stream,
            let reading = FormerReading(
                behind: known,
                upTo: StreamPosition(stream: current.stream, serial: 0)
            )
        else { return false }
        var subscription = subscription
        subscription.attempts += 1
        subscription.former = reading
        readFormer(reading, subscription, on: remote)
        return true
    }

    private func readFormer(
        _ reading: FormerReading,
        _ subscription: PendingSubscription,
        on remote: RemoteChannel
    ) {
        var subscription = subscription
        subscription.former = reading
        read(
            subscription,
            on: remote,
            from: "(\(reading.continuation.position)",
            to: reading.end
        )
    }

    /// Continues a subscription for which sealed streams were read.
    func readFormer(
        _ reply: borrowing RESPView,
        _ reading: FormerReading,
        _ subscription: PendingSubscription,
        on remote: RemoteChannel,
        countMax: Int
    ) {
        var (reading, subscription) = (reading, subscription)
        let app = context.registry.apps[remote.address.app]
        if RedisError(reply) != nil { reading.hasGap = true }
        reply.forEach { entry in
            guard !reading.hasGap else { return }
            take(entry, &reading, on: remote)
        }
        if reading.count > app?.recovery.replayMessagesMax ?? 0
            || reading.byteCount > app?.recovery.replayBytesMax ?? 0
        {
            reading.hasGap = true
        }
        if !reading.hasGap, !reading.isComplete, reply.count == countMax {
            return readFormer(reading, subscription, on: remote)
        }
        subscription.former = reading
        guard remote.position?.stream == reading.end.stream else {
            // Another stream has begun meanwhile.
            subscription.former = nil
            if let app, readFormer(subscription, on: remote, app) { return }
            return resume(subscription, on: remote)
        }
        if !begin(subscription, on: remote) { resume(subscription, on: remote) }
    }

    private func take(
        _ entry: borrowing RESPView,
        _ reading: inout FormerReading,
        on remote: RemoteChannel
    ) {
        switch reading.continuation.advance(to: entry) {
        case .gap:
            if StreamPosition(entry[0]) == nil { remotes.refusedEntry(on: remote) }
            reading.hasGap = true
        case .stream:
            guard !reading.isComplete, let start = ChannelPosition(reading.continuation.position)
            else { return }
            reading.streams.streams.append(FormerStreams.Stream(behind: start))
        case .message:
            guard let message = StoredMessage(entry) else {
                remotes.refusedEntry(on: remote)
                reading.hasGap = true
                return
            }
            reading.count += 1
            reading.byteCount += message.frame.count
            reading.streams.streams[reading.streams.streams.count - 1].messages.append(message)
        }
    }
}
