#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Synchronization

/// A lease of a channel: the channel is subscribed while a lease is held, until it is cancelled or released.
///
/// ```swift
/// let subscription = client.channel("orders").subscription()
/// for try await delivery in subscription.deliveries(of: .placed) {
///     switch delivery {
///     case .event(let order, _): orders.append(order)
///     case .gap: orders = try await loadOrders()
///     case .undecodable(_, let error): log(error)
///     case .recovered: break
///     }
/// }
/// ```
///
/// Leases of one channel share one subscription, with each other and with ``Channel/subscribe(from:rewind:)``; the end of the last
/// one unsubscribes.
public final class ChannelSubscription: Sendable {
    /// The channel.
    public let channel: Channel
    private let isHeld = Atomic(true)
    /// Whether the app has given the position that it begins at.
    let hasPosition: Bool
    private let buffers = Mutex(EventBuffers<Delivery<ChannelEvent>>())
    private let followers = Mutex(EventBuffers<FollowedEvent>())

    init(_ channel: Channel, from origin: ChannelTracking?) {
        self.channel = channel
        hasPosition = origin?.position != nil
        channel.client.lease(channel.name, from: origin)
    }

    deinit { cancel() }

    /// Gives up the lease; its sequences end.
    public func cancel() {
        guard isHeld.exchange(false, ordering: .acquiringAndReleasing) else { return }
        buffers.withLock { $0.finish() }
        followers.withLock { $0.finish() }
        channel.client.endLease(channel.name)
    }

    /// Adds the buffer of a reader, which ends with the lease.
    func add(_ buffer: EventBuffer<Delivery<ChannelEvent>>) {
        buffers.withLock { $0.add(buffer) }
        if !isHeld.load(ordering: .acquiring) { buffer.finish() }
    }

    /// Adds the buffer of a reader that follows the channel behind a state.
    func add(_ buffer: EventBuffer<FollowedEvent>) {
        followers.withLock { $0.add(buffer) }
        if !isHeld.load(ordering: .acquiring) { buffer.finish() }
    }

    /// The channel's events from now on.
    ///
    /// - Parameter event: The event's name; `nil` for all, with those of the protocol.
    /// - Returns: A sequence, which holds the lease.
    public func deliveries(_ event: String? = nil) -> Deliveries<ChannelEvent> {
        Deliveries(Topic(channel: channel.name, event: event), of: channel.client, lease: self) {
            $0
        }
    }

    /// The decoded data of the channel's events of one name, from now on.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    /// - Returns: A sequence, which holds the lease.
    public func deliveries<Payload>(
        of event: EventName<Payload>,
        decoder: JSONDecoder? = nil
    ) -> Deliveries<Payload> {
        let decoder = decoder ?? channel.client.options.decoder
        let topic = Topic(channel: channel.name, event: event.text)
        return Deliveries(topic, of: channel.client, lease: self) { event throws(FanfareError) in
            try event.decode(with: decoder)
        }
    }
}
