import Broker
import Net
import PusherProtocol

/// Asks the clients with a session token to confirm what they have got, with one timer while there is something to
/// confirm.
///
/// A round first records how far the messages of each channel were handed over, and then writes pings. With many
/// clients it takes several turns, so that events wait for no more than one portion. Messages that are handed over
/// between the turns are recorded right before a ping, because its answer confirms them, too. Confirmations can wait,
/// but subscriptions and events cannot. Therefore a loop that is behind does the confirmations in smaller portions.
final class Confirmations: TimerTarget {
    private let context: ShardContext
    /// The channel of this shard at an address.
    var channelAt: (ChannelAddress) -> Channel? = { _ in nil }
    /// The channels with messages not handed over to all of these clients yet, or handed over since the last round.
    private var channels: [Channel] = []
    /// The connections that are asked as soon as it is not too early.
    private var connections: [SocketID: Connection] = [:]
    /// The connections of the grants of this turn.
    private var grants: [Connection] = []
    private var round: Round?
    /// When the timer is due; `nil` while none is running.
    private var due: MonotonicTime?

    /// A round that is not finished.
    private struct Round {
        /// The channels whose marks are to be recorded.
        var channels: [Channel]
        /// The channel whose marks are being recorded.
        var walk: Walk?
        /// The connections to ask; `nil` while marks are recorded.
        var asked: ArraySlice<Connection>?
        /// Whether messages may have been handed over since marks were recorded.
        var takesTurns = false
    }

    /// An iteration over the clients of one channel.
    private struct Walk {
        let channel: Channel
        /// The clients that are not visited yet; later subscribers are added with their grants.
        var rest: ArraySlice<Connection>
        /// The last message at the beginning; after a later one the channel is visited again.
        let lastSerial: UInt64
        var isBehind = false

        init(_ channel: Channel) {
            self.channel = channel
            rest = Array(channel.confirming.values)[...]
            lastSerial = channel.lastSerial
        }
    }

    /// The shortest time between a delivery and the ping after it.
    private static var delay: Duration { .milliseconds(200) }
    /// The time between two portions.
    private static var portionDelay: Duration { .milliseconds(5) }
    /// How late the timer may be before the loop counts as behind with its work.
    private static var lateness: Duration { .milliseconds(5) }

    init(_ context: ShardContext) { self.context = context }

    /// Whether there is nothing to confirm, and no timer is running.
    var isAtRest: Bool {
        channels.isEmpty && connections.isEmpty && round == nil && due == nil
    }

    /// Called when a message was sent on a channel with such clients.
    func sent(on channel: Channel) {
        guard !channel.isInConfirmations else { return }
        channel.isInConfirmations = true
        channels.append(channel)
        startTimer(after: Self.delay)
    }

    /// Called when a client has got something with a grant, or may be asked again.
    func add(_ connection: Connection) {
        connections[connection.socketID] = connection
        startTimer(after: Self.delay)
    }

    /// Called when a grant was written to a client that has something to confirm.
    func granted(_ connection: Connection) { grants.append(connection) }

    /// Asks the clients that got the last of their grants in this turn.
    ///
    /// The ping shares the send of grants that came from other shards.
    func askBehindGrants() {
        guard !grants.isEmpty else { return }
        for connection in exchange(&grants, with: []) {
            if connection.canConfirmGrant { ask(connection, behind: .grants) }
            if connection.hasUnasked { add(connection) }
        }
    }

    /// Asks a client at once; the answer also confirms what it has got on other channels by now.
    func ask(_ connection: Connection, behind occasion: ConfirmationPings.Occasion) {
        noteMarks(of: connection)
        connection.confirm(at: context.milliseconds, behind: occasion)
    }

    /// Called when a connection is closing.
    func remove(_ connection: Connection) {
        if !connections.isEmpty { connections[connection.socketID] = nil }
    }

    func timerFired(tag: Int) {
        let isBehind = due.map { $0.duration(to: context.reactor.now) >= Self.lateness } ?? false
        due = nil
        let standard = context.settings.confirmationPortions
        let portions = isBehind ? standard.whenBehind : standard
        guard noteMarks(atMost: portions.notedMax), ask(atMost: portions.askedMax) else {
            round?.takesTurns = true
            return startTimer(after: Self.portionDelay)
        }
        round = nil
        if !channels.isEmpty || !connections.isEmpty { startTimer(after: Self.delay) }
    }

    /// Asks all clients with something to confirm, although some were asked recently.
    func askAll() {
        // The current round, and what was sent since it began.
        for _ in 0..<2 {
            _ = noteMarks(atMost: .max)
            round = nil
        }
        let now = context.milliseconds
        for connection in connections.values { connection.confirm(at: now, behind: .end) }
        connections = [:]
    }

    /// Records how far messages were handed over, before pings are written after them.
    ///
    /// - Parameter countMax: The maximum number of clients.
    /// - Returns: Whether all channels of the round are done.
    private func noteMarks(atMost countMax: Int) -> Bool {
        var round = self.round ?? Round(channels: exchange(&channels, with: []))
        var left = countMax
        while left > 0, var walk = round.walk ?? round.channels.popLast().map(Walk.init) {
            let portion = walk.rest.prefix(left)
            for connection in portion { note(connection, &walk) }
            walk.rest = walk.rest.dropFirst(portion.count)
            // A channel without clients takes time as well.
            left -= portion.count + 1
            round.walk = walk.rest.isEmpty ? nil : walk
            if walk.rest.isEmpty { end(walk) }
        }
        self.round = round
        return round.walk == nil && round.channels.isEmpty
    }

    private func note(_ connection: Connection, _ walk: inout Walk) {
        let channel = walk.channel
        // It may have left meanwhile.
        guard channel.confirming[connection.socketID] === connection,
            let handed = connection.handOver(channel.mark(of: connection), on: channel.name)
        else { return }
        if handed < channel.lastSerial { walk.isBehind = true }
        if connection.hasUnasked { connections[connection.socketID] = connection }
    }

    /// Records how far the messages of all channels of a client were handed over, right before a ping.
    private func noteMarks(of connection: Connection) {
        connection.handOver { [unowned self] in channelAt($0)?.mark(of: connection) }
    }

    private func end(_ walk: Walk) {
        let channel = walk.channel
        channel.isInConfirmations = walk.isBehind || channel.lastSerial != walk.lastSerial
        if channel.isInConfirmations { channels.append(channel) }
    }

    /// Asks the connections for which it is not too early.
    ///
    /// - Parameter countMax: The maximum number of connections.
    /// - Returns: Whether all connections of the round are done.
    private func ask(atMost countMax: Int) -> Bool {
        var rest = round?.asked ?? Array(connections.values)[...]
        let now = context.milliseconds
        for connection in rest.prefix(countMax) {
            if round?.takesTurns == true { noteMarks(of: connection) }
            if connection.confirm(at: now) { connections[connection.socketID] = nil }
        }
        rest = rest.dropFirst(countMax)
        round?.asked = rest
        return rest.isEmpty
    }

    private func startTimer(after delay: Duration) {
        guard due == nil else { return }
        due = context.reactor.now.advanced(by: delay)
        context.reactor.schedule(after: delay, self)
    }
}
