import Broker
import PusherProtocol

/// The channels that have subscribers on one shard, and those whose home it is and that have any at all.
struct ChannelTable {
    private let shard: Int
    /// By app first: what one app asks about its channels does not take longer with those of another.
    private var channels: [AppID: [ChannelName: Channel]] = [:]

    /// Makes the table of shard number `shard`, without channels.
    init(shard: Int) { self.shard = shard }

    /// The channel at this address; nil if it is vacant.
    subscript(address: ChannelAddress) -> Channel? { channels[address.app]?[address.name] }

    /// The channels of an app.
    func channels(of app: AppID) -> some Collection<Channel> { (channels[app] ?? [:]).values }

    /// The channel at this address, made if it is vacant: for somebody who subscribes.
    mutating func open(_ address: ChannelAddress) -> Channel {
        if let channel = self[address] { return channel }
        let channel = Channel(address.name, shard: shard)
        channels[address.app, default: [:]][address.name] = channel
        return channel
    }

    /// Drops the channel at this address.
    mutating func close(_ address: ChannelAddress) { channels[address.app]?[address.name] = nil }
}
