import Broker
import Net
import PusherProtocol
import WebSocket

/// A channel on one shard: the shard's own subscribers, and at the channel's home the state of the channel.
///
/// The subscribers form a group for each encoding of the frames. Most channels have one, for uncompressed frames. The
/// subscribers that agreed to compression form a group for each window size, so that an event is compressed once for
/// all of them.
final class Channel {
    // The fields that every event needs come first, within 64 bytes: most channels are not in a CPU cache.
    private var plain: StreamGroup?
    private var compressed: [(windowBits: Int, group: StreamGroup)] = []
    /// The state at the channel's home; on other shards it stays without subscribers.
    ///
    /// Exclusive access is not checked: the value calls nothing while it changes.
    @exclusivity(unchecked) var home: ChannelHome
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
        plain?.count ?? 0 == 0 && compressed.allSatisfy { $0.group.count == 0 }
            && home.isVacant
    }

    /// Adds a subscriber of this shard; it receives the events sent from now on.
    ///
    /// - Parameters:
    ///   - stream: The subscriber's stream.
    ///   - windowBits: The window of shared compressed messages; `nil` for no compression (`WebSocketEndpoint`).
    func add(_ stream: Stream, windowBits: Int?) {
        group(of: windowBits, for: stream).join(stream)
    }

    /// The subscribers of this shard.
    var members: [Stream] {
        (plain?.members ?? []) + compressed.flatMap(\.group.members)
    }

    private func group(of windowBits: Int?, for stream: Stream) -> StreamGroup {
        guard let windowBits else {
            if let plain { return plain }
            let group = stream.makeGroup()
            plain = group
            return group
        }
        if let entry = compressed.first(where: { $0.windowBits == windowBits }) {
            return entry.group
        }
        let group = stream.makeGroup()
        compressed = compressed + [(windowBits, group)]
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
        for (_, group) in compressed { group.resetMarks() }
    }

    /// How far the channel's messages were handed over to a subscriber of this shard.
    func mark(of connection: Connection) -> UInt64 {
        let windowBits = connection.sharedWindowBits
        let group =
            windowBits == nil
            ? plain : compressed.first { $0.windowBits == windowBits }?.group
        return group?.mark(of: connection.stream) ?? 0
    }

    /// Removes a subscriber of this shard; events sent before still reach it.
    func remove(_ stream: Stream) {
        plain?.leave(stream)
        for entry in compressed { entry.group.leave(stream) }
    }

    /// Whether some of this shard's subscribers are slower than the channel's events.
    var isCongested: Bool {
        plain?.isCongested == true || compressed.contains { $0.group.isCongested }
    }

    /// Calls `target` when the subscribers of at least one congested group have caught up.
    func notifyRelief(_ target: any ReliefTarget) {
        if let plain, plain.isCongested { return plain.notifyRelief(target) }
        compressed.first { $0.group.isCongested }?.group.notifyRelief(target)
    }

    /// Sends an event to all subscribers of this shard except one, which gets `substitute` if that is not empty.
    ///
    /// - Returns: The number of subscribers, including the excepted one.
    func fanOut(
        _ frame: EventFrame,
        except: Stream?,
        substitute: [UInt8],
        compressing deflaters: SharedDeflaters
    ) -> Int {
        if frame.serial != 0 { lastSerial = frame.serial }
        var count = 0
        let mark = confirming.isEmpty ? 0 : frame.serial
        if let plain {
            count = plain.count
            plain.send(
                frame.bytes,
                except: except,
                substitute: substitute,
                delayMax: frame.delayMax,
                mark: mark
            )
        }
        for (windowBits, group) in compressed where group.count > 0 {
            count += group.count
            let bytes = frame.compressed(by: deflaters[windowBits])
            group.send(
                bytes,
                except: except,
                substitute: substitute,
                delayMax: frame.delayMax,
                mark: mark
            )
        }
        return count
    }
}

/// A shard's compressors, one for each window size, created on first use.
final class SharedDeflaters {
    private let options: DeflateOptions
    private var deflaters: [Int: SharedDeflater] = [:]

    init(options: DeflateOptions?) { self.options = options ?? DeflateOptions() }

    subscript(windowBits: Int) -> SharedDeflater {
        if let deflater = deflaters[windowBits] { return deflater }
        let deflater = SharedDeflater(windowBits: windowBits, options: options)
        deflaters[windowBits] = deflater
        return deflater
    }
}
