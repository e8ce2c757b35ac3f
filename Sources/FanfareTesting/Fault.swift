/// What happens to a message on its way.
public enum Fault: Sendable, Equatable {
    /// It is lost, and nobody is told: what no network does to one connection, but a bug may.
    case drop
    /// It arrives later by the broker's clock, and with it everything behind it.
    case delay(Duration)
    /// It arrives twice.
    case duplicate
    /// The connection is cut in its place, without a close frame.
    case cut
}

/// A message on its way, by which a ``Fault`` chooses.
public struct WireMessage: Sendable, Equatable {
    /// Which way a message goes.
    public enum Direction: Sendable, Equatable {
        /// From a client to the broker.
        case toBroker
        /// From the broker to a client.
        case toClient
    }

    /// Which way it goes.
    public let direction: Direction
    /// The connection that it goes over.
    public let socketID: String
    /// The event's name on the wire, such as `pusher:subscribe`; empty when it is no event.
    public let event: String
    /// The channel; that of a `pusher:subscribe` too.
    public let channel: String?
    /// The whole message as it goes over the wire.
    public let text: String
}

/// The faults that are to happen, in the order in which they were asked for.
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

    /// The fault that happens to a message; the first that fits is used up by one.
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
