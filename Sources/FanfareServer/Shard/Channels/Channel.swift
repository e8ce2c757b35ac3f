import Broker
import Net
import PusherProtocol
import WebSocket

/// A channel as one shard knows it: the shard's own subscribers, and at the channel's home the count of all.
///
/// The subscribers form a group for each encoding of the same frames. Most channels have one: frames as they are. Those
/// with whom compression was agreed form a group for each size of window, so that an event is compressed once for all
/// of them.
final class Channel {
    // What an event touches comes first, since most channels are in no cache: it all lies within 64 bytes.
    private var plain: StreamGroup?
    private var compressed: [(windowBits: Int, group: StreamGroup)] = []
    /// The channel's home; at a shard that is not the home it stays without subscribers.
    ///
    /// Access is not checked for overlaps: the value calls nothing while it changes.
    @exclusivity(unchecked) var home: ChannelHome
    /// The name, of which all subscribers share this copy.
    let name: ChannelName
    /// At the home: bytes sent to other shards since they last said that their subscribers can take more.
    var unconfirmedLength: Int32 = 0
    /// What waits for the subscribers; `nil` as long as they take events as fast as these come.
    var backlog: ChannelBacklog?

    /// Makes a vacant channel of shard number `shard`.
    init(_ name: ChannelName, shard: Int) {
        self.name = name
        home = ChannelHome(on: shard)
    }

    /// Whether nobody is subscribed, here or as far as this shard counts.
    var isVacant: Bool {
        plain?.count ?? 0 == 0 && compressed.allSatisfy { $0.group.count == 0 }
            && home.isVacant
    }

    /// Adds a subscriber of this shard; it gets what is sent from now on.
    ///
    /// - Parameters:
    ///   - stream: The subscriber's stream.
    ///   - windowBits: The window of shared compressed messages, or `nil` for none (`WebSocketEndpoint`).
    func add(_ stream: Stream, windowBits: Int?) {
        group(of: windowBits, for: stream).join(stream)
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

    /// Removes a subscriber of this shard; what was sent before still reaches it.
    func remove(_ stream: Stream) {
        plain?.leave(stream)
        for entry in compressed { entry.group.leave(stream) }
    }

    /// Whether some of this shard's subscribers take events more slowly than these come.
    var isCongested: Bool {
        plain?.isCongested == true || compressed.contains { $0.group.isCongested }
    }

    /// Has `target` called when the subscribers of one encoding, at least, have caught up.
    func notifyRelief(_ target: any ReliefTarget) {
        if let plain, plain.isCongested { return plain.notifyRelief(target) }
        compressed.first { $0.group.isCongested }?.group.notifyRelief(target)
    }

    /// Sends an event to all subscribers of this shard but one; returns how many they are, that one included.
    func fanOut(
        _ frame: EventFrame,
        except: Stream?,
        compressing deflaters: SharedDeflaters
    ) -> Int {
        var count = 0
        if let plain {
            count = plain.count
            plain.send(frame.bytes, except: except, delayMax: frame.delayMax)
        }
        for (windowBits, group) in compressed where group.count > 0 {
            count += group.count
            let bytes = frame.compressed(by: deflaters[windowBits])
            group.send(bytes, except: except, delayMax: frame.delayMax)
        }
        return count
    }
}

/// A shard's compressors, one for each size of window, made when first needed.
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
