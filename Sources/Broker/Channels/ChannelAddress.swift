public import PusherProtocol

/// A channel of an app: channels of one name in two apps have nothing to do with each other.
public struct ChannelAddress: Hashable, Sendable {
    /// The app that the channel belongs to.
    public let app: AppID
    /// The channel's name.
    public let name: ChannelName

    /// Makes the address of channel `name` of `app`.
    public init(app: AppID, name: ChannelName) {
        self.app = app
        self.name = name
    }

    /// The shard that is home to this channel, among `shardCount`.
    ///
    /// The home alone decides the channel's order; see ``AppID/home(of:among:)``.
    public func home(among shardCount: Int) -> Int { app.home(of: name.text, among: shardCount) }
}

extension AppID {
    /// The shard that is home to what is called `name` in this app, among `shardCount`.
    ///
    /// Every shard computes the same answer for as long as the process runs. `Hasher` would do that too, but its seed
    /// makes runs differ and simulations impossible to repeat: this is FNV-1a over the identifier and the name.
    func home(of name: String, among shardCount: Int) -> Int {
        guard shardCount > 1 else { return 0 }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        // The end of the identifier counts: "1" and "2x" are not "12" and "x".
        hash = hash &* 0x0000_0100_0000_01B3
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int((hash ^ hash >> 32) % UInt64(shardCount))
    }
}
