import PusherProtocol

/// What a ``ClientSession`` wants done, in this order.
enum SessionEffect: Equatable {
    /// Open a connection; nothing more is to be heard from an earlier one.
    case open
    /// Close the connection politely; nothing more is to be heard from it.
    case close(code: UInt16, reason: String)
    /// Send a message on the open connection.
    case send(ClientMessage)
    /// Call back after this time, in place of any earlier such request.
    case startTimer(Duration)
    /// Forget that request.
    case stopTimer
    /// Call back about one matter after this time, in place of an earlier such request.
    case startAlarm(SessionAlarm, Duration)
    /// Forget that request.
    case stopAlarm(SessionAlarm)
    /// Have a channel signed for this connection, and come back with the ticket's number.
    case authorize(ticket: Int, channel: String, socketID: String)
    /// Have the user signed for this connection, and come back with the ticket's number.
    case authenticate(ticket: Int, socketID: String)
    /// Nobody waits for what these tickets asked for.
    case forget(tickets: [Int])
    /// The status has changed to this one.
    case status(ConnectionStatus)
    /// Hand an event to those who asked for it.
    case deliver(ChannelEvent)
    /// Hand an event to those who asked for the user's own.
    case deliverToUser(ChannelEvent)
    /// Tell who came and went on a presence channel.
    case presence(channel: String, PresenceChange)
    /// Tell which of the watched users came and went.
    case watchlist(WatchlistChange)
    /// Tell those who ask about faults.
    case report(FanfareError)
    /// The subscription to this channel is confirmed.
    case subscribed(channel: String)
    /// The subscription to this channel is refused, or given up.
    case refused(channel: String, FanfareError)
    /// The broker knows who the user is.
    case signedIn(SignedInUser)
    /// The user is not signed in, for this reason.
    case signInFailed(FanfareError)
}

/// What a session wants to be reminded of, beside its connection.
enum SessionAlarm: Hashable {
    /// Client events may leave again.
    case clientEvents
    /// The broker should have answered the sign-in.
    case signIn
}
