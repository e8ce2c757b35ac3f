import Broker
import PusherProtocol

@testable import Webhooks

/// A channel event with its channel, as tests write and compare them.
struct ReportedEvent: Sendable, Equatable {
    let channel: ChannelName
    let event: ChannelEvent

    init(_ channel: ChannelName, _ event: ChannelEvent) {
        self.channel = channel
        self.event = event
    }

    init(_ report: Report) { self.init(report.address.name, report.event) }

    static func channelOccupied(_ channel: ChannelName) -> Self { Self(channel, .occupied) }
    static func channelVacated(_ channel: ChannelName) -> Self { Self(channel, .vacated) }
    static func memberAdded(_ channel: ChannelName, userID: UserID) -> Self {
        Self(channel, .memberAdded(userID))
    }
    static func memberRemoved(_ channel: ChannelName, userID: UserID) -> Self {
        Self(channel, .memberRemoved(userID))
    }
    static func clientEvent(
        _ channel: ChannelName,
        nameToken: [UInt8],
        dataToken: [UInt8]?,
        sender: SocketID,
        userID: UserID?
    ) -> Self {
        let event = ClientEvent(
            nameToken: nameToken,
            channel: channel.text,
            dataToken: dataToken
        )
        return Self(channel, .clientEvent(event, sender: sender, userID: userID))
    }
    static func cacheMiss(_ channel: ChannelName) -> Self { Self(channel, .cacheMiss) }
    static func cacheFilled(_ channel: ChannelName) -> Self { Self(channel, .cacheFilled) }
    static func subscriptionCount(_ channel: ChannelName, _ count: Int) -> Self {
        Self(channel, .subscriptionCount(count))
    }
}

extension Report {
    init(app: AppID, event: ReportedEvent, uptime: Int64) {
        self.init(
            address: ChannelAddress(app: app, name: event.channel),
            event: event.event,
            uptime: uptime
        )
    }
}

extension Webhooks {
    /// Reports an event as a channel's home does.
    func report(_ event: ReportedEvent, of app: AppID) {
        observe(.channel(event.event, ChannelAddress(app: app, name: event.channel)), of: app)
    }
}
