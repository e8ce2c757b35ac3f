import Broker
import Primitives
import PusherProtocol
import Redis
import Shard

/// A message on its way to Redis.
struct OutgoingMessage {
    let proposal: Proposal
    let address: ChannelAddress
    /// The index of its partition.
    let partition: Int
    var message: ClusterMessage
    /// Whether it goes to the channel's current stream, whatever its ID; one begins if there is none.
    var opens = false

    /// Whether it was sent before, over a connection that has ended and on which Redis may still read it.
    var isUncertain = false

    /// Whether it is published without a script: it has no position and is not kept.
    var isPlain: Bool {
        !opens && message.stream == .none && message.idempotency == nil && message.caching == nil
            && message.webhook == nil && message.expected == nil
    }

    /// Whether it can be published again without harm if the outcome of the first attempt is unknown.
    var isRepeatable: Bool { message.idempotency != nil }

    /// The message for the stream that is current when it is sent; one without a position only keeps its place.
    var reopened: OutgoingMessage {
        var message = self
        message.opens = message.message.stream != .none
        return message
    }

    /// Its size, in bytes.
    var length: Int { message.entry.count + address.name.text.utf8.count }
}

extension [OutgoingMessage] {
    /// The messages of each partition, which are consecutive.
    var parts: [(partition: Int, messages: SubSequence)] {
        var parts: [(partition: Int, messages: SubSequence)] = []
        var rest = self[...]
        while let partition = rest.first?.partition {
            let messages = rest.prefix { $0.partition == partition }
            parts.append((partition, messages))
            rest = rest.dropFirst(messages.count)
        }
        return parts
    }
}

/// Messages that are published without a script; the last call proves that they have reached a primary.
final class PlainBatch {
    let messages: [OutgoingMessage]
    /// The error that replaced one of the replies.
    private(set) var error: RedisError?
    /// Whether each of the calls was redirected, so that nothing is published.
    private(set) var isRedirected = true

    init(_ messages: [OutgoingMessage]) { self.messages = messages }

    func check(_ error: RedisError?) {
        self.error = self.error ?? error
        if error?.isRedirection != true { isRedirected = false }
    }
}

/// The messages of one shard that are not sent to a store yet, in the order of each partition.
struct ClusterOutbox {
    /// The messages of a channel whose stream has ended, in their order.
    private struct Reopening {
        /// Those that Redis has refused because of that.
        var stale: [OutgoingMessage] = []
        /// Those that were added after them.
        var waiting: [OutgoingMessage] = []
    }

    /// By partition.
    private var queues: [Int: Queue<OutgoingMessage>] = [:]
    /// The partitions with messages, in the order in which they got them.
    private var filled: [Int] = []
    private var reopening: [ChannelAddress: Reopening] = [:]
    /// The size of all messages, in bytes.
    private(set) var byteCount = 0

    /// Whether there is something to send.
    var isEmpty: Bool { filled.isEmpty }

    /// The number of messages.
    var count: Int {
        queues.values.reduce(0) { $0 + $1.count }
            + reopening.values.reduce(0) { $0 + $1.stale.count + $1.waiting.count }
    }

    /// Adds a message after all others of its channel.
    mutating func append(_ message: OutgoingMessage) {
        byteCount += message.length
        guard reopening.isEmpty || reopening[message.address] == nil else {
            reopening[message.address]?.waiting.append(message)
            return
        }
        enqueue(message)
    }

    private mutating func enqueue(_ message: OutgoingMessage) {
        if queues[message.partition]?.isEmpty != false { filled.append(message.partition) }
        queues[message.partition, default: Queue()].append(message)
    }

    /// Removes and returns the next messages that one call can include: all on one path, and those of each partition
    /// together.
    ///
    /// - Parameter isOfOnePartition: Whether a call contains messages of only one partition.
    /// - Returns: At most ``ClusterScripts/messageCountMax`` messages; `nil` if there are none.
    mutating func nextBatch(ofOnePartition isOfOnePartition: Bool) -> [OutgoingMessage]? {
        guard let first = filled.first.flatMap({ queues[$0]?.first }) else { return nil }
        var batch: [OutgoingMessage] = []
        var visitedCount = 0
        var left: [Int] = []
        for partition in filled.prefix(isOfOnePartition ? 1 : filled.count) {
            guard batch.count < ClusterScripts.messageCountMax else { break }
            visitedCount += 1
            let formerCount = batch.count
            batch += queues[partition, default: Queue()].elements
                .prefix(ClusterScripts.messageCountMax - batch.count)
                .prefix { $0.isPlain == first.isPlain && $0.opens == first.opens }
            queues[partition]?.removeFirst(batch.count - formerCount)
            if queues[partition]?.isEmpty == false { left.append(partition) }
        }
        filled.replaceSubrange(..<visitedCount, with: left)
        byteCount -= batch.reduce(0) { $0 + $1.length }
        return batch
    }

    /// Puts messages that could not be sent back before all others.
    mutating func putBack(_ batch: [OutgoingMessage]) {
        byteCount += batch.reduce(0) { $0 + $1.length }
        for part in batch.parts {
            if queues[part.partition]?.isEmpty != false { filled.append(part.partition) }
            queues[part.partition, default: Queue()].prepend(part.messages)
        }
    }

    // MARK: - Streams that have ended

    /// Whether a channel's stream has ended and its messages wait for another.
    var isReopening: Bool { !reopening.isEmpty }

    /// Keeps a message whose channel has another stream than assumed.
    ///
    /// Later messages that were already sent are refused too. They follow, and after them the messages that were not
    /// sent yet.
    mutating func reopen(_ message: OutgoingMessage) {
        byteCount += message.length
        reopening[message.address, default: Reopening()].stale.append(message)
    }

    /// Holds the later messages of a channel until the earlier ones, which were sent for another stream, are answered.
    ///
    /// Otherwise Redis might refuse the earlier ones because of the stream, and accept the later ones.
    mutating func hold(_ address: ChannelAddress) {
        reopening[address] = reopening[address] ?? Reopening()
    }

    /// Whether a message of a channel is about to be sent.
    func contains(_ address: ChannelAddress) -> Bool {
        queues.values.contains { $0.elements.contains { $0.address == address } }
    }

    /// Sends the messages of channels without earlier unanswered messages to their current streams.
    ///
    /// - Parameter isUnanswered: Whether a message of a channel is unanswered.
    mutating func sendReopened(isUnanswered: (ChannelAddress) -> Bool) {
        for (address, messages) in reopening
        where !isUnanswered(address) && !contains(address) {
            reopening[address] = nil
            for message in messages.stale + messages.waiting { enqueue(message.reopened) }
        }
    }

    // MARK: - The end of a connection

    /// Continues after the end of a connection: repeatable messages are sent again, before those that were not sent.
    ///
    /// - Parameters:
    ///   - unanswered: The messages of the unanswered calls, in their order.
    ///   - refuse: Called with the messages that may or may not have been published.
    mutating func lost(_ unanswered: [OutgoingMessage], refuse: (OutgoingMessage) -> Void) {
        var ahead = reopening.values.flatMap(\.stale)
        for var message in unanswered {
            guard message.isRepeatable else {
                refuse(message)
                continue
            }
            message.isUncertain = true
            byteCount += message.length
            ahead.append(message)
        }
        let behind = reopening.values.flatMap(\.waiting)
        reopening = [:]
        guard !ahead.isEmpty || !behind.isEmpty else { return }
        let unsent = waiting
        (queues, filled) = ([:], [])
        for message in ahead + unsent + behind { enqueue(message) }
    }

    /// Removes the messages of a partition, to which a channel belongs if `isThere` returns true.
    ///
    /// Returns the messages that Redis has refused, and those that were not sent, in the order of each channel. The
    /// refused ones precede the unanswered ones of their channels.
    mutating func removeAll(
        of partition: Int,
        _ isThere: (ChannelAddress) -> Bool
    ) -> (refused: [OutgoingMessage], unsent: [OutgoingMessage]) {
        let reopened = reopening.filter { isThere($0.key) }
        for address in reopened.keys { reopening[address] = nil }
        // They are sent to the stream that is current then.
        let refused = reopened.values.flatMap(\.stale).map(\.reopened)
        let queued = Array((queues.removeValue(forKey: partition) ?? Queue()).elements)
        let unsent = queued + reopened.values.flatMap(\.waiting).map(\.reopened)
        filled.removeAll { $0 == partition }
        byteCount -= (refused + unsent).reduce(0) { $0 + $1.length }
        return (refused, unsent)
    }

    private var waiting: [OutgoingMessage] { filled.flatMap { (queues[$0] ?? Queue()).elements } }

    /// Removes and returns all messages.
    mutating func removeAll() -> [OutgoingMessage] {
        let all = reopening.values.flatMap { $0.stale + $0.waiting } + waiting
        self = ClusterOutbox()
        return all
    }
}
