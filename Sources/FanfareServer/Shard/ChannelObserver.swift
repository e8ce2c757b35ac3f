import Broker
import PusherProtocol

/// Who is told what happens on channels: by the home of each, on its loop, and in the order in which it happened.
///
/// Told is what is raw: a departure at once, also when a return follows it. The observer must not wait, for the loop
/// waits with it.
protocol ChannelObserver: AnyObject, Sendable {
    /// Takes in something that has happened.
    ///
    /// - Parameters:
    ///   - occurrence: What it was.
    ///   - address: The channel; never one of `#server-to-user-`.
    func observer(_ occurrence: ChannelOccurrence, on address: ChannelAddress)
}

/// Something that happened on a channel, as its home saw it.
enum ChannelOccurrence: Sendable, Equatable {
    /// The first subscriber has come; told before the member that came with it.
    case occupied
    /// The last subscriber has gone; told after the member that went with it.
    case vacated
    /// The first connection of a user has joined a presence channel.
    case memberAdded(UserID)
    /// The last connection of a user has left a presence channel.
    case memberRemoved(UserID)
    /// A client event was accepted; of whom, on a presence channel.
    case clientEvent(ClientEvent, sender: SocketID, userID: UserID?)
    /// A cache channel was found empty, for the first time since it had an event or for a minute.
    case cacheMiss
    /// A cache channel that was empty has an event.
    case cacheFilled
    /// Subscribers were told how many they are, or the last of them has gone.
    case subscriptionCount(Int)
}

extension ShardCore {
    /// Tells the observer, if there is one; of users' own channels nobody is told.
    func tell(_ occurrence: @autoclosure () -> ChannelOccurrence, on address: ChannelAddress) {
        guard let observer, address.name.kind != .serverToUser else { return }
        observer.observer(occurrence(), on: address)
    }
}
