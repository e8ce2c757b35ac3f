internal import Broker
internal import PusherProtocol

/// An event of an app, and when the broker reported it.
struct Report: Sendable, Equatable {
    let app: AppID
    let event: WebhookEvent
    /// In milliseconds of ``WebhookClock/uptime``.
    let uptime: Int64

    /// Where it happened.
    var address: ChannelAddress { ChannelAddress(app: app, name: event.channel) }

    /// The length of what a client can make it grow by, in bytes.
    var length: Int {
        guard case .clientEvent(_, let name, let data, _, _) = event else { return 0 }
        return name.count + (data?.count ?? 0)
    }
}
