package import Broker
import Net
import PusherProtocol

/// A channel on one shard: the shard's own subscribers, and at the channel's home the state of the channel.
///
/// The subscribers form a group for each encoding of their transports. Most channels have one, for the frames of the
/// envelopes. Others share an encoder, so that an event is encoded, for example compressed, once for all of them.
package final class Channel {
    // The fields that every event needs come first, within 64 bytes: most channels are not in a CPU cache.
    private var plain: StreamGroup?
    private var encoded: [(encoder: any EnvelopeEncoder, group: StreamGroup)] = []
    /// The state at the channel's home; on other shards it stays without subscribers.
    ///
    /// Exclusive access is not checked: the value calls nothing while it changes.
    @exclusivity(unchecked) package var home: ChannelHome
    /// The name; all subscribers share this copy.
    let name: ChannelName
    /// At the home: bytes sent to other shards since they last confirmed that their subscribers have room.
    var unconfirmedLength: Int32 = 0
    /// This shard's subscribers whose client has a session token and therefore confirms what it gets.
    private(set) var confirming: [SocketID: Connection] = [:]
    /// The serial of the last message that was sent to this shard's subscribers; 0 if there was none.
    private(set) var lastSerial: UInt64 = 0
    /// Whether the shard's ``Confirmations`` have the channel in their list.
    var isInConfirmations = false
    /// The events that wait for the subscribers; `nil` while the channel is not congested.
    var backlog: ChannelBacklog?

    /// Creates a vacant channel on shard number `shard`.
    init(_ name: ChannelName, shard: Int) {
        self.name = name
        home = ChannelHome(on: shard)
    }

    /// Whether the channel has no subscribers on this shard and, at the home, on no other.
    var isVacant: Bool {
        plain?.count ?? 0 == 0 && encoded.allSatisfy { $0.group.count == 0 }
            && home.isVacant
    }

    /// Adds a subscriber of this shard; it receives the events sent from now on.
    func add(_ connection: Connection) {
        let stream = connection.stream
        group(of: connection.transport.encoder, for: stream).join(stream)
    }

    /// The subscribers of this shard.
    var connections: [Connection] {
        ((plain?.members ?? []) + encoded.flatMap(\.group.members))
            .compactMap { ($0.delegate as? any Transport)?.connection }
    }

    private func group(of encoder: (any EnvelopeEncoder)?, for stream: Stream) -> StreamGroup {
        guard let encoder else {
            if let plain { return plain }
            let group = stream.makeGroup()
            plain = group
            return group
        }
        if let group = encoded.first(where: { $0.encoder === encoder })?.group { return group }
        let group = stream.makeGroup()
        // Not `append`, which would reserve room for more.
        encoded = encoded + [(encoder, group)]
        return group
    }

    /// Adds a subscriber of this shard that confirms what it gets.
    func addConfirming(_ connection: Connection) { confirming[connection.socketID] = connection }

    /// Removes a subscriber whose confirmations no longer count.
    func removeConfirming(_ socketID: SocketID) {
        if !confirming.isEmpty { confirming[socketID] = nil }
    }

    /// Called when the channel continues in another stream, to which the former serials do not apply.
    func forgetSerials() {
        lastSerial = 0
        plain?.resetMarks()
        for (_, group) in encoded { group.resetMarks() }
    }

    /// How far the channel's messages were handed over to a subscriber of this shard.
    func mark(of connection: Connection) -> UInt64 {
        let encoder = connection.transport.encoder
        let group =
            encoder == nil ? plain : encoded.first { $0.encoder === encoder }?.group
        return group?.mark(of: connection.stream) ?? 0
    }

    /// Removes a subscriber of this shard; events sent before still reach it.
    func remove(_ stream: Stream) {
        plain?.leave(stream)
        for entry in encoded { entry.group.leave(stream) }
    }

    /// Whether some of this shard's subscribers are slower than the channel's events.
    var isCongested: Bool {
        plain?.isCongested == true || encoded.contains { $0.group.isCongested }
    }

    /// Calls `target` when the subscribers of at least one congested group have caught up.
    func notifyRelief(_ target: any ReliefTarget) {
        if let plain, plain.isCongested { return plain.notifyRelief(target) }
        encoded.first { $0.group.isCongested }?.group.notifyRelief(target)
    }

    /// Sends an event to all subscribers of this shard except one, which gets `substitute` if that is not empty.
    ///
    /// - Returns: The number of subscribers, including the excepted one.
    func fanOut(
        _ message: ChannelMessage,
        except: Stream?,
        substitute: [UInt8]
    ) -> Int {
        if message.serial != 0 { lastSerial = message.serial }
        var count = 0
        let mark = confirming.isEmpty ? 0 : message.serial
        if let plain {
            count = plain.count
            plain.send(
                message.envelope.frame,
                except: except,
                substitute: substitute,
                delayMax: message.delayMax,
                mark: mark
            )
        }
        for (encoder, group) in encoded where group.count > 0 {
            count += group.count
            group.send(
                encoder.encode(message.envelope),
                except: except,
                substitute: substitute,
                delayMax: message.delayMax,
                mark: mark
            )
        }
        return count
    }
}
