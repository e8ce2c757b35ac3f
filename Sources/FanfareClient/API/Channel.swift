public import Dispatch

/// A channel of a client, to subscribe to and to receive events from.
///
/// A lightweight handle; equal by client and name.
public struct Channel: Sendable {
    /// The channel's name.
    public let name: String
    /// The client.
    public let client: FanfareClient

    /// Whether the broker has confirmed the subscription on the current connection.
    public var isSubscribed: Bool { client.isSubscribed(to: name) }

    /// Subscribes now or when the client connects, and again on each later connection.
    ///
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe() -> Channel {
        client.subscribe(to: name, with: nil)
        return self
    }

    /// Subscribes on the current connection with a signature the app already has.
    ///
    /// The signature is valid for the connection whose ``FanfareClient/socketID`` was signed. On the next connection
    /// the client calls ``ClientOptions/channelAuthorizer``; without one the subscription fails.
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

    /// Unsubscribes: ends the channel's sequences and keeps its callbacks for the next subscription.
    public func unsubscribe() { client.unsubscribe(from: name) }

    /// Waits until the broker has confirmed the subscription.
    ///
    /// - Throws: A ``FanfareError`` when the broker refuses it, when the app has not subscribed or has unsubscribed, or
    ///   when the client disconnects or fails; `CancellationError` when the task is cancelled.
    public func waitUntilSubscribed() async throws {
        try await client.waitUntilSubscribed(to: name)
    }

    // MARK: Callbacks

    /// Calls `perform` on the main actor for each event with this name.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        perform: @escaping @MainActor @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(event, on: .main) { event in MainActor.assumeIsolated { perform(event) } }
    }

    /// Calls `perform` on a serial queue for each event with this name.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on queue: DispatchQueue,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        client.bind(Topic(channel: name, event: event), on: .queue(queue), perform)
    }

    /// Calls `perform` on the main actor with the decoded data of each event with this name.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        perform: @escaping @MainActor @Sendable (Payload) -> Void
    ) -> Binding {
        bind(event, on: .main) { payload in MainActor.assumeIsolated { perform(payload) } }
    }

    /// Calls `perform` on a serial queue with the decoded data of each event with this name.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        on queue: DispatchQueue,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding {
        bind(event, on: .queue(queue), perform: perform)
    }

    // MARK: Sequences

    /// The channel's events from now on.
    ///
    /// Made before ``subscribe()``, the sequence misses no event.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - bufferLimit: The most unread events; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func events(_ event: String? = nil, bufferLimit: Int = 1024) -> Events {
        Events(buffer: client.buffer(Topic(channel: name, event: event), limit: bufferLimit))
    }

    /// The decoded data of the channel's events of one name, from now on.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - bufferLimit: The most unread events; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func events<Payload>(
        _ event: EventName<Payload>,
        bufferLimit: Int = 1024
    ) -> DecodedEvents<Payload> {
        let topic = Topic(channel: name, event: event.text)
        return DecodedEvents(buffer: client.buffer(topic, limit: bufferLimit))
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

extension FanfareClient {
    /// Calls `perform` on the main actor for each event with this name on any channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        perform: @escaping @MainActor @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(event, on: .main) { event in MainActor.assumeIsolated { perform(event) } }
    }

    /// Calls `perform` on a serial queue for each event with this name on any channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on queue: DispatchQueue,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(Topic(event: event), on: .queue(queue), perform)
    }

    /// The events of all channels from now on.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - bufferLimit: The most unread events; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func events(_ event: String? = nil, bufferLimit: Int = 1024) -> Events {
        Events(buffer: buffer(Topic(event: event), limit: bufferLimit))
    }
}
