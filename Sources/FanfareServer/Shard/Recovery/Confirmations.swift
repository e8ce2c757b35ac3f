import Broker
import Net
import PusherProtocol

/// Asks the clients with a session token to confirm what they have got, with one timer while there is something to
/// confirm.
final class Confirmations: TimerTarget {
    private let context: ShardContext
    /// The channels with messages that were not handed over to all of these clients, or that were since the last tick.
    private var channels: [Channel] = []
    /// The connections that are asked as soon as it is not too early.
    private var connections: [SocketID: Connection] = [:]
    private var isTimerRunning = false

    /// The time between a delivery and the ping behind it, at least.
    private static var delay: Duration { .milliseconds(200) }
    /// The connections that are asked in one turn.
    private static var portionMax: Int { 1_024 }
    /// The time between two portions.
    private static var portionDelay: Duration { .milliseconds(5) }

    init(_ context: ShardContext) { self.context = context }

    /// Whether there is nothing to confirm, and no timer is running.
    var isAtRest: Bool { channels.isEmpty && connections.isEmpty && !isTimerRunning }

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

    /// Called when a connection is closing.
    func remove(_ connection: Connection) {
        if !connections.isEmpty { connections[connection.socketID] = nil }
    }

    func timerFired(tag: Int) {
        isTimerRunning = false
        noteMarks()
        let now = context.milliseconds
        var count = 0
        for (id, connection) in connections {
            count += 1
            guard count <= Self.portionMax else { break }
            if connection.confirm(at: now) { connections[id] = nil }
        }
        guard !channels.isEmpty || !connections.isEmpty else { return }
        startTimer(after: count > Self.portionMax ? Self.portionDelay : Self.delay)
    }

    /// Asks all clients with something to confirm, although some were asked a moment ago.
    func askAll() {
        noteMarks()
        let now = context.milliseconds
        for connection in connections.values { _ = connection.confirm(at: now, isUrgent: true) }
        connections = [:]
    }

    /// Notes how far messages were handed over, before pings are written behind them.
    private func noteMarks() {
        channels = channels.filter { channel in
            var isBehind = false
            for connection in channel.confirming.values {
                let countsWaiting = context.faults.contains(.marksWaiting)
                let mark = countsWaiting ? channel.lastSerial : channel.mark(of: connection)
                guard let handed = connection.handOver(mark, on: channel.name) else { continue }
                if handed < channel.lastSerial { isBehind = true }
                if connection.hasUnasked { connections[connection.socketID] = connection }
            }
            channel.isInConfirmations = isBehind
            return isBehind
        }
    }

    private func startTimer(after delay: Duration) {
        guard !isTimerRunning else { return }
        isTimerRunning = true
        context.reactor.schedule(after: delay, self)
    }
}
