public import PusherProtocol

/// A connection that requests a subscription.
public struct Subscriber: Sendable {
    /// The connection.
    public let socketID: SocketID
    /// The number of its shard.
    public let shard: Int
    /// Its user, if the channel is a presence channel.
    public let member: Member?
    /// Its position in the channel's stream, if it tracks one.
    public let position: PositionRequest?
    /// A digest of the client's address; 0 if it is not known, or does not matter.
    public let addressDigest: UInt32

    /// Creates a subscriber.
    public init(
        _ socketID: SocketID,
        shard: Int,
        member: Member? = nil,
        position: PositionRequest? = nil,
        addressDigest: UInt32 = 0
    ) {
        self.addressDigest = addressDigest
        self.position = position
        self.socketID = socketID
        self.shard = shard
        self.member = member
    }
}
