import Broker
import Net
import PusherProtocol

/// The connections of one shard that must still prove that their app's backend knows them (Pusher documentation,
/// "Authorized connections"), each with the timer that ends its time.
///
/// They have no place in the app's quota yet: whoever connects without an account keeps nobody out.
struct AuthorizationDeadlines {
    private var timers: [SocketID: TimerID] = [:]

    /// The number of connections on probation.
    var count: Int { timers.count }

    fileprivate mutating func begin(_ connection: SocketID, _ timer: TimerID) {
        timers[connection] = timer
    }

    fileprivate mutating func end(_ connection: SocketID) -> TimerID? {
        timers.removeValue(forKey: connection)
    }
}

extension ShardCore {
    /// Gives a new connection the time that its app allows.
    func beginProbation(of connection: Connection) {
        guard let seconds = connection.app.features.authorizationTimeout else { return }
        let timer = reactor.schedule(after: .seconds(seconds), connection)
        probation.begin(connection.socketID, timer)
    }

    /// Stops the time of a connection that has made it, or has closed.
    func endProbation(of connection: Connection) {
        if let timer = probation.end(connection.socketID) { reactor.cancel(timer) }
    }
}

extension Connection: TimerTarget {
    /// The time is over in which the connection had to prove that the app's backend knows it.
    func timerFired(tag: Int) {
        guard !isClosing, !hasPlace else { return }
        guard let seconds = app.features.authorizationTimeout else { return endProbation() }
        core.met(.authorizationTime)
        close(
            .unauthorized,
            message: "Not authorized within \(seconds) seconds: sign in, or subscribe to a private "
                + "or presence channel"
        )
    }
}
