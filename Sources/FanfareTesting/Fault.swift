/// A fault in the delivery of a message.
public enum Fault: Sendable, Equatable {
    /// The message is lost without an error, as by a bug; a network never loses a single message.
    case drop
    /// The message and all later ones arrive after this delay on the broker's clock.
    case delay(Duration)
    /// The message arrives twice.
    case duplicate
    /// The connection ends instead of the message's arrival, without a close frame.
    case cut
}

/// A message in transit, for selecting the messages to which a ``Fault`` applies.
public struct WireMessage: Sendable, Equatable {
    /// The direction of a message.
    public enum Direction: Sendable, Equatable {
        /// From a client to the broker.
        case toBroker
        /// From the broker to a client.
        case toClient
    }

    /// The direction.
    public let direction: Direction
    /// The socket ID of the connection.
    public let socketID: String
    /// The event's name on the wire, such as `pusher:subscribe`; empty if there is none.
    public let event: String
    /// The channel, also for a `pusher:subscribe`.
    public let channel: String?
    /// The whole message.
    public let text: String
}

/// The injected faults, in order.
struct Faults: Sendable {
    private struct Entry: Sendable {
        let fault: Fault
        let direction: WireMessage.Direction
        var times: Int
        let matches: @Sendable (WireMessage) -> Bool
    }

    private var entries: [Entry] = []

    mutating func add(
        _ fault: Fault,
        _ direction: WireMessage.Direction,
        times: Int,
        matching: @escaping @Sendable (WireMessage) -> Bool
    ) {
        guard times > 0 else { return }
        entries.append(
            Entry(fault: fault, direction: direction, times: times, matches: matching)
        )
    }

    mutating func removeAll() { entries = [] }

    /// Returns the fault for a message; each match consumes one use of the first matching fault.
    mutating func next(for message: WireMessage) -> Fault? {
        let index = entries.firstIndex {
            $0.direction == message.direction && $0.matches(message)
        }
        guard let index else { return nil }
        defer {
            entries[index].times -= 1
            if entries[index].times == 0 { entries.remove(at: index) }
        }
        return entries[index].fault
    }
}
