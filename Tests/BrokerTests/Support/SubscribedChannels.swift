import PusherProtocol

@testable import Broker

extension Subscriptions {
    /// The channels, in no particular order.
    var channels: [ChannelName] {
        var channels: [ChannelName] = []
        forEachChannel { channels.append($0) }
        return channels
    }
}
