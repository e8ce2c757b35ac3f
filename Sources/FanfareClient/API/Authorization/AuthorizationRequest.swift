/// A request for a signature.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The connection's socket ID.
    public let socketID: String
    /// The channels to subscribe to; empty for a sign-in.
    public let channels: [String]

    init(socketID: String, channels: [String]) {
        self.socketID = socketID
        self.channels = channels
    }
}
