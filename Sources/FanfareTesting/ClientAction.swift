/// What a client has done, as the broker saw it; for assertions.
public struct ClientAction: Sendable, Equatable {
    /// What there is to do for a client.
    public enum Kind: Sendable, Equatable {
        /// It has connected.
        case connected
        /// It has asked to be subscribed to a channel.
        case subscribe(channel: String)
        /// It has asked to be unsubscribed from a channel.
        case unsubscribe(channel: String)
        /// It has sent an event to the others on a channel; the data is JSON text or a plain text.
        case event(name: String, channel: String, data: String?)
        /// It has asked to be signed in; the text is what its backend has signed.
        case signIn(userData: String)
        /// It has asked for a sign of life.
        case ping
        /// It has answered such a question.
        case pong
        /// It has said what is no message of a client; the text is what was wrong.
        case fault(String)
        /// Its connection has ended, by a close frame of the client with this code or in another way.
        case disconnected(code: Int?)
    }

    /// The connection.
    public let socketID: String
    /// When, by the broker's clock, since that was made.
    public let time: Duration
    /// What it has done.
    public let kind: Kind
}

extension ClientAction: CustomStringConvertible {
    /// The action in a few words.
    public var description: String { "\(socketID) \(kind)" }
}
