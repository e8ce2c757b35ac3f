/// An action of a client as the broker sees it, for assertions.
public struct ClientAction: Sendable, Equatable {
    /// The kind of an action.
    public enum Kind: Sendable, Equatable {
        /// The client has connected.
        case connected
        /// The client has requested a subscription.
        case subscribe(channel: String)
        /// The client has unsubscribed from a channel.
        case unsubscribe(channel: String)
        /// The client has sent a client event; the data is JSON text or plain text.
        case event(name: String, channel: String, data: String?)
        /// The client has requested to sign in; the text is the signed `user_data`.
        case signIn(userData: String)
        /// The client has sent a ping.
        case ping
        /// The client has answered a ping.
        case pong
        /// The client has sent a malformed message; the text describes the fault.
        case fault(String)
        /// The connection has ended; `code` is the code of the client's close frame, if any.
        case disconnected(code: Int?)
    }

    /// The socket ID.
    public let socketID: String
    /// The time on the broker's clock, since the clock's creation.
    public let time: Duration
    /// The kind of the action.
    public let kind: Kind
}

extension ClientAction: CustomStringConvertible {
    /// A short description.
    public var description: String { "\(socketID) \(kind)" }
}
