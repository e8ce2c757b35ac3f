internal import Broker
internal import PusherProtocol

/// An event of a channel, and when it was reported.
struct Report: Sendable, Equatable {
    let address: ChannelAddress
    let event: ChannelEvent
    /// In milliseconds of ``WebhookClock/uptime``.
    let uptime: Int64

    /// The number of bytes that a client can add to it.
    var length: Int {
        guard case .clientEvent(let event, _, _) = event else { return 0 }
        return event.nameToken.count + (event.dataToken?.count ?? 0)
    }
}
