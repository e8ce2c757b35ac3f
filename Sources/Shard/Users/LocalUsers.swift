import Broker
import Net
import PusherProtocol

/// The users of a standalone broker: the shard itself decides.
final class LocalUsers: UserAuthority {
    private let context: ShardContext
    // SAFETY: the service owns this object.
    private unowned(unsafe) let users: UserService
    private var home = UserHome()
    private var isDepartureTimerRunning = false

    init(_ context: ShardContext, _ users: UserService) {
        (self.context, self.users) = (context, users)
    }

    var count: Int { home.count }

    func signedIn(_ user: UserAddress) { users.send(home.signIn(user)) }

    func signedOut(_ user: UserAddress) {
        home.signOut(user, at: context.milliseconds)
        startDepartureTimer()
    }

    func watch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) -> UserHome.Report {
        home.watch(ids, of: app, by: watcher)
    }

    func unwatch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) {
        home.unwatch(ids, of: app, by: watcher)
    }

    func terminate(_ user: UserAddress, _ finish: @escaping (HomeAnswer) -> Void) {
        users.terminate(user)
        finish(.success([]))
    }

    /// Starts the timer of the next departure, unless it is running or no departure is pending.
    private func startDepartureTimer() {
        guard !isDepartureTimerRunning, let time = home.nextDeparture else { return }
        isDepartureTimerRunning = true
        let delay = Duration.milliseconds(max(0, time - context.milliseconds))
        context.reactor.schedule(after: delay, self)
    }
}

extension LocalUsers: TimerTarget {
    func timerFired(tag: Int) {
        isDepartureTimerRunning = false
        users.send(home.removeDeparted(at: context.milliseconds))
        startDepartureTimer()
    }
}
