import FanfareClient
import PusherProtocol

/// A device whose app reads channels through a real client.
final class LeaseDevice {
    typealias Position = FanfareClient.ChannelPosition

    /// A lease that the app holds, with its readers.
    struct Held {
        let number: Int
        let lease: ChannelSubscription
        let start: Position?
        var books: [LeaseBook] = []
    }

    /// What the app does with a channel.
    struct Use {
        /// Whether the app has subscribed without a lease.
        var isOwn = false
        var leases: [Held] = []
        /// The position from which the client continues; `nil` before the first answer.
        var position: Position?
        /// When the channel was last left.
        var leftAt: Int?
        /// Injected fault: the position that a later lease has moved the channel to.
        var moved: Position?

        var isHeld: Bool { isOwn || !leases.isEmpty }
        var books: [LeaseBook] { leases.flatMap(\.books) }
    }

    let number: Int
    let client: Fanfare
    var connection: LeaseConnection?
    /// Whether a connection can be opened.
    var isOnline = true
    var uses = LeaseScenario.channels.map { _ in Use() }
    private var socketIDs: Set<String> = []
    /// The positions of the events that the broker did not send to this device.
    private var passed: [Set<Position>] = LeaseScenario.channels.map { _ in [] }

    init(number: Int, _ client: Fanfare) {
        self.number = number
        self.client = client
    }

    var name: String { "device \(number)" }

    func channel(_ index: Int) -> Channel { client.channel(LeaseScenario.channels[index]) }

    // MARK: - The broker's messages

    /// Passes a message to the client, and records where its channel is.
    func receive(
        _ message: ServerMessage,
        _ pass: () -> Void,
        in world: LeaseWorld
    ) throws(Violation) {
        switch message {
        case .connectionEstablished(let id, _, _): socketIDs.insert(id.description)
        case .subscriptionSucceeded(let name, let data):
            let channel = try world.index(name)
            let isLive = self.channel(channel).isSubscribed
            pass()
            guard self.channel(channel).isSubscribed,
                let start = SubscriptionStart(acknowledgement: data)
            else { return }
            return confirm(channel, start, isLive: isLive, in: world)
        case .subscriptionError(let name, let kind, let text, _):
            throw Violation(.answers, "\(self.name) was refused \(name): \(kind) \(text)")
        case .event(let event):
            guard let name = event.channel, let serial = event.serial else { break }
            let channel = try world.index(name)
            let id = LeaseWorld.id(of: event.data)
            if let position = advance(channel, to: serial), let id {
                try world.record(id, at: position)
            }
        case .position(let name, let serial, _):
            guard let serial else { break }
            let channel = try world.index(name)
            if let position = advance(channel, to: serial) { passed[channel].insert(position) }
        default: break
        }
        pass()
    }

    /// Records the number of a message; returns its position, unless it belongs to an earlier subscription.
    private func advance(_ channel: Int, to serial: UInt64) -> Position? {
        guard self.channel(channel).isSubscribed, let known = uses[channel].position else {
            return nil
        }
        let position = Position(stream: known.stream, serial: serial)
        if serial == known.serial + 1 { uses[channel].position = position }
        return position
    }

    private func confirm(
        _ channel: Int,
        _ start: SubscriptionStart,
        isLive: Bool,
        in world: LeaseWorld
    ) {
        let new = Position(stream: start.position.stream.text, serial: start.position.serial)
        let known = uses[channel].position
        var isGap = known != nil
        switch start.continuity {
        case .gap: isGap = true
        case .recovered: isGap = false
        case .began: break
        }
        if isLive, let known, known.stream == new.stream, new.serial <= known.serial {
            guard case .gap = start.continuity else { return }
        }
        world.reach(isGap ? .restart : known == nil ? .tracked : .recovered)
        uses[channel].position = new
        for book in uses[channel].books { book.confirmed(at: new, isGap: isGap) }
    }

    // MARK: - Events that exclude the device

    func isExcluded(from event: LeaseEvent) -> Bool {
        event.excluded.map(socketIDs.contains) ?? false
    }

    /// Whether no event is missing between two positions.
    func hasPassed(from start: Position, to end: Position, _ channel: Int) -> Bool {
        guard start.stream == end.stream, start.serial < end.serial else { return false }
        return (start.serial + 1..<end.serial).allSatisfy {
            passed[channel].contains(Position(stream: end.stream, serial: $0))
        }
    }
}

/// An event that a backend has published.
struct LeaseEvent {
    let id: Int
    let channel: Int
    let excluded: String?
    var isAccepted = false
    var position: FanfareClient.ChannelPosition?
}
