public import PusherProtocol

/// A refused request of a client or a backend: its origin, subject and reason, and advice.
///
/// For observers. No text contains a signature that would be valid.
public struct Refusal: Sendable, Equatable {
    /// What was refused.
    public enum Subject: String, Sendable, CaseIterable {
        /// A client's connection.
        case connection
        /// A subscription.
        case subscription
        /// The sign-in of a user.
        case signIn = "sign-in"
        /// Another message of a client.
        case message
        /// A request to the HTTP API.
        case request
    }

    /// What was refused.
    public var subject: Subject
    /// The reason, as sent to the peer.
    public var reason: String
    /// Advice on how to fix it; `nil` if the reason says it.
    public var advice: String?
    /// The limit that was reached; the advice is to raise it.
    public var limit: Limit?
    /// The peer's address, or that of the client behind a trusted proxy.
    public var address: String?
    /// The client's connection.
    public var socketID: SocketID?
    /// The channel or channels concerned.
    public var channel: String?
    /// The method and path of a request.
    public var request: String?
    /// The key that a client has connected with, if no app has it; the text is arbitrary, and may even be a secret.
    public var unknownKey: String?
    /// The HTTP status, or the protocol's code.
    public var code: Int?

    /// Creates a refusal; the other properties are set where they are known.
    public init(_ subject: Subject, reason: String) {
        self.subject = subject
        self.reason = reason
    }
}

/// The peer of a client's connection.
public struct ClientPeer: Sendable, Equatable {
    /// Its address, or that of the client behind a trusted proxy.
    public var address: String?
    /// The name and version of its library; empty if it sends none.
    public var library: String
    /// Whether it is connected over TLS.
    public var isSecure: Bool

    /// Describes a peer.
    public init(address: String?, library: String, isSecure: Bool) {
        self.address = address
        self.library = library
        self.isSecure = isSecure
    }
}

/// A WebSocket frame that is received or sent, as text.
public enum FrameTrace: Sendable, Equatable {
    /// A client's message.
    case received(String, from: SocketID)
    /// A message to one client.
    case sent(String, to: SocketID)
    /// A message to this number of subscribers of a channel on one shard.
    case fannedOut(String, subscriberCount: Int, ChannelAddress)
}
