#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Primitives

/// A lease of a channel: the channel stays subscribed until the lease is cancelled or released.
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
/// All leases of a channel and ``Channel/subscribe(from:rewind:fresh:)`` share one subscription. The client
/// unsubscribes when the last of them ends.
///
/// Each lease has its own start. If the channel is subscribed already, a lease with a position receives only the events
/// after it. Earlier events than those of the subscription are not requested: the lease's sequences then deliver a gap
/// with the reason ``Gap/Reason/behind`` or ``Gap/Reason/unknownStream``, and the other leases nothing.
public final class ChannelSubscription: Sendable {
    /// The channel.
    public let channel: Channel
    private let isHeld = Lock(true)
    /// Where its readers begin.
    let start: LeaseStart
    private let buffers = Lock(EventBuffers<Delivery<ChannelEvent>>())
    private let followers = Lock(EventBuffers<FollowedEvent>())

    init(_ channel: Channel, from origin: ChannelTracking?, fresh: Bool) {
        self.channel = channel
        let number = channel.client.lease(channel.name, from: origin, fresh: fresh)
        start = LeaseStart(lease: number, position: origin?.position)
    }

    deinit { cancel() }

    /// Ends the lease and its sequences.
    public func cancel() {
        guard isHeld.exchange(false) else { return }
        buffers.withLock { $0.finish() }
        followers.withLock { $0.finish() }
        channel.client.endLease(channel.name)
    }

    /// Adds a reader's buffer, which ends with the lease.
    func add(_ buffer: EventBuffer<Delivery<ChannelEvent>>) {
        buffers.withLock { $0.add(buffer) }
        if !isHeld.load() { buffer.finish() }
    }

    /// Adds the buffer of a reader that loads a state before the events.
    func add(_ buffer: EventBuffer<FollowedEvent>) {
        followers.withLock { $0.add(buffer) }
        if !isHeld.load() { buffer.finish() }
    }

    /// Returns the channel's events from now on, and the gaps between them.
    ///
    /// - Parameter event: The event's name; `nil` for all, with those of the protocol.
    /// - Returns: A sequence that holds the lease.
    public func deliveries(_ event: String? = nil) -> Deliveries<ChannelEvent> {
        channel.client.deliveries(of: topic(event), holding: self) { $0 }
    }

    /// Returns the decoded data of the channel's events of one name, from now on, and the gaps between them.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    /// - Returns: A sequence that holds the lease.
    public func deliveries<Payload>(
        of event: EventName<Payload>,
        decoder: JSONDecoder? = nil
    ) -> Deliveries<Payload> {
        let client = channel.client
        let decode = client.decode(Payload.self, with: decoder)
        return client.deliveries(of: topic(event.text), holding: self, decode: decode)
    }

    /// Returns the channel's events from now on, for an app that needs no notice of gaps.
    ///
    /// ```swift
    /// for try await event in client.channel("news").subscription().events("headline") {
    ///     print(event.data ?? "")
    /// }
    /// ```
    ///
    /// The events are those of ``deliveries(_:)``: each once and in order, with the missed ones after a reconnection.
    /// If some are lost, the sequence continues without notice. An app that shows a state must know of it: use
    /// ``deliveries(_:)``, or ``deliveries(_:behind:at:)``.
    ///
    /// - Parameter event: The event's name; `nil` for all, with those of the protocol.
    /// - Returns: A sequence that holds the lease.
    public func events(_ event: String? = nil) -> Updates<ChannelEvent, FanfareError> {
        channel.client.events(of: topic(event), holding: self) { $0 }
    }

    /// Returns the decoded data of the channel's events of one name, from now on, for an app that needs no notice of
    /// gaps.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``Fanfare/onError(perform:)``. See ``events(_:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    /// - Returns: A sequence that holds the lease.
    public func events<Payload>(
        of event: EventName<Payload>,
        decoder: JSONDecoder? = nil
    ) -> Updates<Payload, FanfareError> {
        let client = channel.client
        let decode = client.decode(Payload.self, with: decoder)
        return client.events(of: topic(event.text), holding: self, decode: decode)
    }

    private func topic(_ event: String?) -> Topic { Topic(channel: channel.name, event: event) }
}
