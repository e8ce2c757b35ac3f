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

    /// Closes every connection that is signed in as a user.
    func terminate(_ user: UserAddress, _ finish: @escaping (HomeAnswer) -> Void)

    /// The number of users that are online or watched.
    var count: Int { get }
}
