import PusherProtocol

/// An event that a backend triggers on a stored channel, over all of its attempts.
final class StoredEvent {
    let id: Int
    let channel: String
    /// The idempotency key, under which it may be repeated.
    let key: String?
    let isDurable: Bool
    /// The position behind which alone it is to be published; `nil` for no condition.
    let condition: ChannelPosition?
    /// Where the broker has told that it is; `nil` before an answer with 200.
    var position: ChannelPosition?
    /// Whether an attempt was answered with 200.
    var isAnswered = false
    /// Whether a loss of power may have taken it: it was not synced.
    var mayBeLost = false
    /// Whether an attempt has ended without an answer: it may be published.
    var isUnknown = false

    init(
        id: Int,
        channel: String,
        key: String?,
        isDurable: Bool,
        condition: ChannelPosition? = nil
    ) {
        self.condition = condition
        self.id = id
        self.channel = channel
        self.key = key
        self.isDurable = isDurable
    }
}

/// What everybody has seen of stored channels.
struct ArchiveModel {
    /// The event at each position that anybody was told.
    private(set) var seen: [ChannelPosition: Int] = [:]
    var events: [StoredEvent] = []

    /// Records the event at a position.
    ///
    /// - Throws: Another one was seen there.
    mutating func see(_ event: Int, at position: ChannelPosition) throws(Violation) {
        if let other = seen[position], other != event {
            throw Violation(.serials, "\(position) is event \(event), and was event \(other)")
        }
        seen[position] = event
    }

    /// Checks a channel's history, which has everything from the first message on.
    ///
    /// - Parameters:
    ///   - messages: The events, by serial.
    ///   - channel: The channel.
    ///   - position: Its last position.
    /// - Throws: Something that was released or answered is missing, or is there twice.
    func check(
        _ messages: [(serial: UInt64, event: Int)],
        of channel: String,
        at position: ChannelPosition
    ) throws(Violation) {
        let serials = messages.map(\.serial)
        guard serials == Array(1..<UInt64(serials.count) + 1),
            position.serial == serials.last ?? 0
        else {
            throw Violation(
                .honesty,
                "\(channel) is at \(position), and its history has the numbers \(serials)"
            )
        }
        var counts: [Int: Int] = [:]
        for (serial, event) in messages {
            counts[event, default: 0] += 1
            let place = ChannelPosition(stream: position.stream, serial: serial)
            if let other = seen[place], other != event {
                throw Violation(.serials, "\(place) is event \(event), and was event \(other)")
            }
        }
        for place in seen.keys where place.stream == position.stream {
            guard place.serial <= position.serial else {
                throw Violation(
                    .durability,
                    "\(place) was seen, and \(channel) is at \(position) under the same ID"
                )
            }
        }
        for event in events where event.channel == channel {
            let count = counts[event.id] ?? 0
            if event.key != nil, count > 1 {
                throw Violation(
                    .repeats,
                    "event \(event.id) was published \(count) times under one key"
                )
            }
            guard event.isAnswered, count == 0, !event.mayBeLost else { continue }
            throw Violation(.durability, "event \(event.id) was answered, and \(channel) lacks it")
        }
    }
}

/// A device that tracks one stored channel over all of its connections.
final class StoredTracker {
    let channel: String
    let number: Int
    var position: ChannelPosition?
    var transport: SimulatedClient?
    /// Whether the present connection has an acknowledgement.
    var isSubscribed = false
    /// The number of messages of the replay that have not arrived.
    var replayCount = 0

    init(_ channel: String, number: Int) {
        self.channel = channel
        self.number = number
    }

    func cut() {
        transport?.pipe.close()
        transport = nil
        isSubscribed = false
        replayCount = 0
    }
}
