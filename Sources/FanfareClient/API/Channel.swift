#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A channel of a client, for subscribing and for receiving events.
///
/// A lightweight handle; equal by client and name.
public struct Channel: Sendable {
    /// The channel's name.
    public let name: String
    /// The client.
    public let client: Fanfare

    /// Whether the broker has confirmed the subscription on the current connection.
    public var isSubscribed: Bool { client.isSubscribed(to: name) }

    /// Subscribes now or when the client connects, and again on each later connection.
    ///
    /// A new subscription begins at `position`, else where the last one ended less than
    /// ``ClientOptions/Recovery/resubscribeGrace`` ago, else at the stored position of
    /// ``ClientOptions/Recovery/positions``, else at the present. The broker first sends the events after that
    /// position, or reports a gap. After a disconnect the client continues from the last event it received, whatever
    /// the first position was.
    ///
    /// While a lease is held the channel keeps its position. The callbacks then receive the events after `position`; if
    /// it is before that of the channel, ``onContinuity(perform:)`` reports a gap (``Gap/Reason/behind``).
    ///
    /// - Parameters:
    ///   - position: A position such as an earlier ``position``, or one from the app's backend; `nil` for the stored
    ///     position, if there is one.
    ///   - rewind: The earlier events to begin with if there is no position; the broker must allow it.
    ///   - fresh: Whether a new subscription without `position` begins at the present, whatever is kept or stored.
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe(
        from position: ChannelPosition? = nil,
        rewind: Rewind? = nil,
        fresh: Bool = false
    ) -> Channel {
        let origin = ChannelTracking(origin: position, rewind)
        client.subscribe(to: name, with: nil, from: origin, fresh: fresh)
        return self
    }

    /// Subscribes on the current connection with a signature the app already has.
    ///
    /// The backend must have signed the current ``Fanfare/socketID``. On the next connection the client calls
    /// ``ClientOptions/Authorization/channels``; without one the subscription fails.
    ///
    /// - Parameter authorization: The backend's signature.
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe(with authorization: ChannelAuthorization) -> Channel {
        client.subscribe(to: name, with: authorization)
        return self
    }

    /// The number of subscribed connections, if the broker reports it.
    ///
    /// Each change arrives as the event `pusher:subscription_count`.
    public var subscriptionCount: Int? { client.subscriptionCount(of: name) }

    /// Ends the subscription of ``subscribe(from:rewind:fresh:)``; the client unsubscribes unless a lease is held.
    ///
    /// A lease is a ``ChannelSubscription``. The callbacks stay for the next subscription. Within
    /// ``ClientOptions/Recovery/resubscribeGrace`` it continues where this one ends.
    public func unsubscribe() { client.unsubscribe(from: name) }

    /// Subscribes for as long as the lease is held.
    ///
    /// - Parameters:
    ///   - position: The position to begin at, as in ``subscribe(from:rewind:fresh:)``.
    ///   - rewind: The earlier events to begin with if there is no position; the broker must allow it.
    ///   - fresh: Whether a new subscription without `position` begins at the present, whatever is kept or stored.
    /// - Returns: The lease; it ends when it is cancelled or released.
    public func subscription(
        from position: ChannelPosition? = nil,
        rewind: Rewind? = nil,
        fresh: Bool = false
    ) -> ChannelSubscription {
        ChannelSubscription(self, from: ChannelTracking(origin: position, rewind), fresh: fresh)
    }

    /// Waits until the broker has confirmed the subscription.
    ///
    /// - Throws: A ``FanfareError`` when the broker refuses it, when the app has not subscribed or has unsubscribed, or
    ///   when the client disconnects or fails; `CancellationError` when the task is cancelled.
    public func waitUntilSubscribed() async throws {
        try await client.waitUntilSubscribed(to: name)
    }

    // MARK: Callbacks

    /// Calls `perform` for each event with this name.
    ///
    /// ```swift
    /// channel.bind("addUser") { event in names.append(event.data ?? "") }
    /// ```
    ///
    /// A closure that is isolated to an actor, such as the main actor, runs on that actor and can use its state. Any
    /// other closure runs off the main actor, one call at a time.
    ///
    /// The callback stays bound after a disconnect. A sequence of ``subscription(from:rewind:fresh:)`` also reports
    /// gaps.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (ChannelEvent) -> Void
    ) -> ListenerToken {
        client.listen(to: \.events.callbacks[Topic(channel: name, event: event)], perform)
    }

    /// Calls `perform` with the decoded data of each event with this name.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``Fanfare/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    ///   - perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        decoder: JSONDecoder? = nil,
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (Payload) -> Void
    ) -> ListenerToken {
        let topic = Topic(channel: name, event: event.text)
        return client.listen(to: topic, decoder: decoder, perform)
    }
}

extension Channel: Hashable {
    /// Whether both are the same channel of the same client.
    public static func == (left: Channel, right: Channel) -> Bool {
        left.name == right.name && left.client === right.client
    }

    /// Hashes name and client.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(ObjectIdentifier(client))
    }
}

extension Fanfare {
    /// Calls `perform` for each event with this name on any channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (ChannelEvent) -> Void
    ) -> ListenerToken {
        listen(to: \.events.callbacks[Topic(event: event)], perform)
    }
}
