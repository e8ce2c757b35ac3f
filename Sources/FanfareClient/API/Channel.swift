public import Dispatch

/// A channel of a client: where to bind to its events, and to subscribe.
///
/// A value without a life of its own: two channels of one client with one name are the same.
public struct Channel: Sendable {
    /// The channel's name.
    public let name: String
    /// The client.
    public let client: FanfareClient

    /// Whether the broker has confirmed the subscription on the present connection.
    public var isSubscribed: Bool { client.isSubscribed(to: name) }

    /// Subscribes now, or as soon as the client is connected, and again with each connection.
    ///
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe() -> Channel {
        client.subscribe(to: name, with: nil)
        return self
    }

    /// Subscribes on the present connection with a signature that is at hand.
    ///
    /// It holds for the connection whose ``FanfareClient/socketID`` was signed. With the next one
    /// ``ClientOptions/channelAuthorizer`` is asked, and without one the channel is refused.
    ///
    /// - Parameter authorization: What the app's backend has signed.
    /// - Returns: The same channel.
    @discardableResult
    public func subscribe(with authorization: ChannelAuthorization) -> Channel {
        client.subscribe(to: name, with: authorization)
        return self
    }

    /// How many connections are subscribed, where the broker tells; on each change an event
    /// `pusher:subscription_count` arrives.
    public var subscriptionCount: Int? { client.subscriptionCount(of: name) }

    /// Unsubscribes: the channel's sequences end, its callbacks stay and rest.
    public func unsubscribe() { client.unsubscribe(from: name) }

    /// Waits until the broker has confirmed the subscription.
    ///
    /// - Throws: A ``FanfareError`` when the broker refuses it, when the channel is not or not any
    ///   longer asked for, or when the client ends; `CancellationError` when the task is cancelled.
    public func waitUntilSubscribed() async throws {
        try await client.waitUntilSubscribed(to: name)
    }

    // MARK: Callbacks

    /// Calls back on the main actor for each event of a name.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        perform: @escaping @MainActor @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(event, on: .main) { event in MainActor.assumeIsolated { perform(event) } }
    }

    /// Calls back on a serial queue for each event of a name.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on queue: DispatchQueue,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        client.bind(Topic(channel: name, event: event), on: .queue(queue), perform)
    }

    /// Calls back on the main actor with the decoded data of each event of a name.
    ///
    /// Data that is no `Payload` goes to ``FanfareClient/onError(perform:)`` instead.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        perform: @escaping @MainActor @Sendable (Payload) -> Void
    ) -> Binding {
        bind(event, on: .main) { payload in MainActor.assumeIsolated { perform(payload) } }
    }

    /// Calls back on a serial queue with the decoded data of each event of a name.
    ///
    /// Data that is no `Payload` goes to ``FanfareClient/onError(perform:)`` instead.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
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
    /// Made before ``subscribe()``, the sequence misses not one.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - bufferLimit: How many unread events are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func events(_ event: String? = nil, bufferLimit: Int = 1024) -> Events {
        Events(buffer: client.buffer(Topic(channel: name, event: event), limit: bufferLimit))
    }

    /// The decoded data of the channel's events of one name, from now on.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - bufferLimit: How many unread events are held before the sequence ends by an error.
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
    /// Calls back on the main actor for each event of a name, on whatever channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        perform: @escaping @MainActor @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(event, on: .main) { event in MainActor.assumeIsolated { perform(event) } }
    }

    /// Calls back on a serial queue for each event of a name, on whatever channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
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
    ///   - bufferLimit: How many unread events are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func events(_ event: String? = nil, bufferLimit: Int = 1024) -> Events {
        Events(buffer: buffer(Topic(event: event), limit: bufferLimit))
    }
}
