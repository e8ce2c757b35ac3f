import PusherProtocol

/// An effect for the client to perform, in order, as returned by ``ClientSession``.
enum SessionEffect: Equatable {
    /// Open a connection; ignore input from an earlier one.
    case open
    /// Close the connection with a close frame; ignore further input from it.
    case close(code: UInt16, reason: String)
    /// Send a message on the open connection.
    case send(ClientMessage)
    /// Start the timer, replacing a running one.
    case startTimer(Duration)
    /// Stop the timer.
    case stopTimer
    /// Start an alarm, replacing a running one of its kind.
    case startAlarm(SessionAlarm, Duration)
    /// Stop an alarm.
    case stopAlarm(SessionAlarm)
    /// Request the authorisation of a channel, and return the outcome with the ticket's number.
    case authorize(ticket: Int, channel: String, socketID: String)
    /// Request the key of an encrypted channel whose events wait for it, and return the outcome with the ticket's
    /// number.
    case requestKey(ticket: Int, channel: String, socketID: String)
    /// Request the authentication of the user, and return the outcome with the ticket's number.
    case authenticate(ticket: Int, socketID: String)
    /// Cancel the requests of these tickets.
    case cancel(tickets: [Int])
    /// Report the new status.
    case status(ConnectionStatus)
    /// Deliver an event with its position in the channel's stream to its listeners.
    case deliver(ChannelEvent, at: ChannelPosition? = nil)
    /// Deliver an event to the listeners of the user's events.
    case deliverToUser(ChannelEvent, at: ChannelPosition? = nil)
    /// Record a position whose message is not for this client: nothing is delivered.
    case pass(channel: String, ChannelPosition)
    /// Report to the listeners of a channel's continuity how a subscription relates to what was received before.
    ///
    /// The position is that at which the subscription begins; `nil` if the broker keeps none.
    case continuity(channel: String, Continuity, at: ChannelPosition? = nil)
    /// Forget the position that the app has handled in a channel: the app has left it for good.
    case forget(channel: String)
    /// Report a change of a presence channel's members.
    case presence(channel: String, PresenceChange)
    /// Report to the sequences of a channel that events may be missing.
    case gap(channel: String, Gap)
    /// Report to the readers of one lease that they miss events before the position.
    ///
    /// If the subscription was confirmed just now as new, readers that load a state do so anyway.
    case leaseGap(
        channel: String,
        lease: Int,
        Gap,
        isConfirmed: Bool = false,
        at: ChannelPosition?
    )
    /// Check whether the slow readers of a channel, whose events are held back, read at all.
    case checkReaders(channel: String)
    /// Report to the sequences of a channel that all missed events have been delivered.
    case recovered(channel: String, count: Int)
    /// Report a change of the watchlist.
    case watchlist(WatchlistChange)
    /// Report an error to the error listeners.
    case report(FanfareError)
    /// Resume the tasks that wait for this subscription: it is confirmed.
    case subscribed(channel: String)
    /// Resume the tasks that wait for this subscription and end its sequences: it was refused or cancelled.
    case refused(channel: String, FanfareError)
    /// Resume the tasks that wait for this subscription: it failed temporarily, and is tried again.
    case postponed(channel: String, FanfareError)
    /// Resume the task that waits for the outcome of a client event.
    case settled(key: String, Result<ClientEventDelivery, FanfareError>)
    /// Report that the sign-in is confirmed.
    case signedIn(SignedInUser)
    /// Report that the sign-in failed.
    case signInFailed(FanfareError)
}

/// A kind of alarm of a session, besides the connection's timer.
enum SessionAlarm: Hashable {
    /// The rate limit allows the next client event.
    case clientEvents
    /// Receipts of client events may be late.
    case receipts
    /// The time limit for the broker's answer to a sign-in.
    case signIn
    /// The next attempt at a subscription that failed temporarily.
    case subscription(String)
    /// The next check of the readers for which a channel's events are held back.
    case slowReaders(String)
}
