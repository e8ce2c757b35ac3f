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
    /// The status has changed to this one.
    case status(ConnectionStatus)
    /// Hand an event to those who asked for it.
    case deliver(ChannelEvent)
    /// Tell those who ask about faults.
    case report(FanfareError)
    /// The subscription to this channel is confirmed.
    case subscribed(channel: String)
    /// The subscription to this channel is refused, or given up.
    case refused(channel: String, FanfareError)
}
