import Broker
import Net
import PusherProtocol

/// Writes changed sessions to the archive, so that little is redelivered to clients after a crash.
///
/// It writes every second, or every five if there are many. In a cluster the sessions go to their homes every five
/// seconds, which pass them on to Redis.
///
/// The connection that owns a session knows its cursors; its home knows the sessions without a connection. All shards
/// begin a round at the same moments, so that one of them writes a session that moves between two shards between two
/// rounds. One portion is in progress at a time: while the archive cannot write, changes of a session are recorded
/// once.
final class SessionCheckpoints: TimerTarget {
    private let context: ShardContext
    private unowned let sessions: SessionService
    /// The connections whose sessions have changed since the last round.
    private var connections: [SocketID: Connection] = [:]
    /// The connections of this round that are not posted yet, and the number of sessions at their home.
    private var due: (connections: [Connection], atHome: Int) = ([], 0)
    private var isUnderWay = false
    private var isTimerRunning = false

    /// The time between two rounds of few sessions, in milliseconds.
    private static var interval: Int64 { 1_000 }
    /// The number of intervals between two rounds of more than a portion.
    private static var longInterval: Int64 { 5 }
    /// The maximum number of sessions and of cursors in one portion, which delays messages of stored channels.
    private static var portionMax: (sessions: Int, cursors: Int) { (256, 2_048) }
    /// The time between two portions of a round in a cluster.
    private static var portionDelay: Duration { .milliseconds(20) }

    private enum Task: Int { case round, portion }

    init(_ context: ShardContext, _ sessions: SessionService) {
        self.context = context
        self.sessions = sessions
    }

    /// Whether nothing is recorded or in progress, and no timer is running.
    var isAtRest: Bool { connections.isEmpty && !isUnderWay && !isTimerRunning }

    /// Called when the session that a connection may own has changed.
    func changed(_ connection: Connection) {
        connections[connection.socketID] = connection
        startTimer()
    }

    /// Called when a connection is closing; its session's home writes what the connection hands over.
    func remove(_ connection: Connection) { connections[connection.socketID] = nil }

    /// Called when sessions may have changed at their home.
    func homeChanged() { if sessions.local.home.changeCount > 0 { startTimer() } }

    func timerFired(tag: Int) {
        if tag == Task.portion.rawValue { return written() }
        isTimerRunning = false
        let count = connections.count + sessions.local.home.changeCount
        let isShort = count <= Self.portionMax.sessions && context.archive != nil
        guard isShort || isLongIntervalOver else { return startTimer() }
        due = (Array(connections.values), sessions.local.home.changeCount)
        connections = [:]
        post()
    }

    /// Called when the last portion is written.
    func written() {
        isUnderWay = false
        post()
    }

    /// Posts the next portion of this round.
    private func post() {
        var changes: [SessionChange] = []
        var cursorCount = 0
        while changes.count < Self.portionMax.sessions, cursorCount < Self.portionMax.cursors,
            let connection = due.connections.popLast()
        {
            guard let session = connection.storedSession else { continue }
            cursorCount += session.cursors.count
            changes.append(.keep(session))
        }
        let room = min(Self.portionMax.sessions - changes.count, due.atHome)
        due.atHome -= room
        changes += sessions.local.takeChanges(upTo: room)
        guard !changes.isEmpty else {
            if !connections.isEmpty || sessions.local.home.changeCount > 0 { startTimer() }
            return
        }
        isUnderWay = true
        if let archive = context.archive {
            archive.post(.sessions(changes, shard: context.shard))
        } else {
            sessions.sendCheckpoints(changes)
            context.reactor.schedule(after: Self.portionDelay, self, tag: Task.portion.rawValue)
        }
    }

    /// Whether this is the beginning of a long interval, the same for all shards.
    private var isLongIntervalOver: Bool {
        let number = (context.milliseconds + Self.interval / 2) / Self.interval
        return number % Self.longInterval == 0
    }

    private func startTimer() {
        guard !isTimerRunning, !isUnderWay else { return }
        isTimerRunning = true
        let delay = Self.interval - context.milliseconds % Self.interval
        context.reactor.schedule(after: .milliseconds(delay), self, tag: Task.round.rawValue)
    }
}
