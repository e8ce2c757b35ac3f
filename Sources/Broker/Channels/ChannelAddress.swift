public import PusherProtocol

/// A channel of an app: channels of one name in two apps are different channels.
public struct ChannelAddress: Hashable, Sendable {
    /// The app that the channel belongs to.
    public let app: AppID
    /// The channel's name.
    public let name: ChannelName

    /// Creates the address of channel `name` of `app`.
    public init(app: AppID, name: ChannelName) {
        self.app = app
        self.name = name
    }

    /// The home shard of this channel, among `shardCount`.
    ///
    /// Only the home decides the order of the channel's events; see ``AppID/home(of:among:)``.
    public func home(among shardCount: Int) -> Int { app.home(of: name.text, among: shardCount) }
}

extension AppID {
    /// The home shard of the channel or user `name` of this app, among `shardCount`.
    ///
    /// All shards compute the same result while the process runs. `Hasher` would too, but its random seed makes
    /// simulations unrepeatable. This is FNV-1a of the identifier and the name.
    func home(of name: String, among shardCount: Int) -> Int {
        guard shardCount > 1 else { return 0 }
        let hash = self.hash(of: name)
        return Int((hash ^ hash >> 32) % UInt64(shardCount))
    }

    /// The hash of a channel or user of this app, the same in every process.
    func hash(of name: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        // The end of the identifier is hashed too: "1" and "2x" differ from "12" and "x".
        hash = hash &* 0x0000_0100_0000_01B3
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}
