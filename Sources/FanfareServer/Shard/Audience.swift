import Net
import WebSocket

/// A channel's subscribers on one shard, in a group for each encoding of the same frames.
///
/// Most channels have one: frames as they are. Subscribers with whom compression was agreed form a group for each size
/// of window, so that an event is compressed once for all of them.
struct Audience {
    private var groups: [(windowBits: Int?, group: StreamGroup)] = []

    /// The number of subscribers.
    var count: Int { groups.reduce(0) { $0 + $1.group.count } }

    /// Adds a subscriber; it gets what is sent from now on.
    ///
    /// - Parameters:
    ///   - stream: The subscriber's stream.
    ///   - windowBits: The window of shared compressed messages, or `nil` for none (`WebSocketEndpoint`).
    mutating func join(_ stream: Stream, windowBits: Int?) {
        if let entry = groups.first(where: { $0.windowBits == windowBits }) {
            entry.group.join(stream)
        } else {
            let group = stream.makeGroup()
            group.join(stream)
            groups.append((windowBits, group))
        }
    }

    /// Removes a subscriber; what was sent before still reaches it.
    mutating func leave(_ stream: Stream) {
        for entry in groups { entry.group.leave(stream) }
    }

    /// Sends an event to all subscribers but one.
    func send(_ frame: EventFrame, except: Stream?, compressing deflaters: SharedDeflaters) {
        for (windowBits, group) in groups where group.count > 0 {
            let bytes = windowBits.map { frame.compressed(by: deflaters[$0]) } ?? frame.bytes
            group.send(bytes, except: except)
        }
    }
}

/// A shard's compressors, one for each size of window, made when first needed.
final class SharedDeflaters {
    private let options: DeflateOptions
    private var deflaters: [Int: SharedDeflater] = [:]

    init(options: DeflateOptions) { self.options = options }

    subscript(windowBits: Int) -> SharedDeflater {
        if let deflater = deflaters[windowBits] { return deflater }
        let deflater = SharedDeflater(windowBits: windowBits, options: options)
        deflaters[windowBits] = deflater
        return deflater
    }
}
