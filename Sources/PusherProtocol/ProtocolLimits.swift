/// What the protocol bounds, with the values of Pusher's documentation and libraries.
public struct ProtocolLimits: Equatable, Sendable {
    /// The longest channel name, prefix included, in characters.
    ///
    /// 200 is what the official server libraries check; the hosted service documents 164.
    public var channelNameLengthMax = 200
    /// The longest user id, in characters.
    public var userIDLengthMax = 128
    /// The longest event name, in characters.
    public var eventNameLengthMax = 200
    /// The most data that one event carries: the bytes of the string, its JSON escapes resolved.
    public var dataLengthMax = 10_240
    /// The most channels that one trigger names.
    public var channelsPerTriggerMax = 100
    /// The most events of one batch.
    public var eventsPerBatchMax = 10
    /// How deep the JSON of a peer may nest.
    public var depthMax = JSONScanner.depthMaxDefault

    /// The documented values.
    public init() {}
}
