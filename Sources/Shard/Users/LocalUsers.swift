package import Broker
import Net
import PusherProtocol

/// Decides about the users whose home is a shard: which are online, and who is notified of it.
package protocol UserAuthority: AnyObject {
    /// Called when a connection has signed in.
    func signedIn(_ user: UserAddress)

    /// Called when a connection has signed out.
    func signedOut(_ user: UserAddress)

    /// Adds a watcher of users, and returns the known states; the others are reported later.
    func watch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) -> UserHome.Report

    /// Removes a watcher of users.
    func unwatch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher)

    /// The number of users that are online or watched.
    var count: Int { get }
}

/// The users of a standalone broker: the shard itself decides.
final class LocalUsers: UserAuthority {
    private let context: ShardContext
    private let report: ([UserHome.Report]) -> Void
    private var home = UserHome()
    private var isDepartureTimerRunning = false

    /// Creates the authority of a shard; `report` sends reports to the shards of the watchers.
    init(_ context: ShardContext, reporting report: @escaping ([UserHome.Report]) -> Void) {
        (self.context, self.report) = (context, report)
    }

    var count: Int { home.count }

    func signedIn(_ user: UserAddress) { report(home.signIn(user)) }

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
        report(home.removeDeparted(at: context.milliseconds))
        startDepartureTimer()
    }
}
