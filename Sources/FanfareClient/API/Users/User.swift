public import Dispatch
import Synchronization

/// The user of a client: the sign-in, the events sent to the user, and the watchlist.
///
/// ```swift
/// client.user.bind("message") { event in print(event.data ?? "") }
/// client.signIn()
/// ```
public struct User: Sendable {
    /// The client.
    public let client: FanfareClient

    /// The signed-in user of the current connection, if any.
    public var current: SignedInUser? { client.state.withLock { $0.session.signIn.user } }

    /// Whether the broker has confirmed the sign-in on the current connection.
    public var isSignedIn: Bool { current != nil }

    /// The users on the watchlist whose state the broker has reported on this connection.
    public var watchlist: Watchlist { client.state.withLock { $0.session.signIn.watchlist } }

    // MARK: Events

    /// Calls `perform` on the main actor for each event that a backend sends to the user.
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

    /// Calls `perform` on a serial queue for each event that a backend sends to the user.
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
        client.bind(Topic(channel: Topic.user, event: event), on: .queue(queue), perform)
    }

    /// Calls `perform` on the main actor with the decoded data of each event with this name for the user.
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
        channel.bind(event, perform: perform)
    }

    /// The events that a backend sends to the user from now on, also after a sign-in as another user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - bufferLimit: The most unread events; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func events(_ event: String? = nil, bufferLimit: Int = 1024) -> Events {
        channel.events(event, bufferLimit: bufferLimit)
    }

    /// The decoded data of the events of one name that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - bufferLimit: The most unread events; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func events<Payload>(
        _ event: EventName<Payload>,
        bufferLimit: Int = 1024
    ) -> DecodedEvents<Payload> {
        channel.events(event, bufferLimit: bufferLimit)
    }

    /// The topic of the user's events, as a channel; the broker has no such channel.
    private var channel: Channel { Channel(name: Topic.user, client: client) }

    // MARK: Watchlist

    /// Calls `perform` on the main actor with every change of the watchlist.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onWatchlistChange(
        perform: @escaping @MainActor @Sendable (WatchlistChange) -> Void
    ) -> Binding {
        onWatchlistChange(on: .main) { change in MainActor.assumeIsolated { perform(change) } }
    }

    /// Calls `perform` on a serial queue with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onWatchlistChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (WatchlistChange) -> Void
    ) -> Binding {
        client.add(to: \.watchlists, on: .queue(queue), perform)
    }

    /// Returns the watchlist as a sequence: its current state first, then its state after every change.
    ///
    /// A reader more than 64 changes behind misses the oldest, never the latest.
    ///
    /// - Returns: A sequence for one task.
    public func watchlists() -> Watchlists {
        let buffer = EventBuffer<Watchlist>(limit: 64, policy: .keepsNewest)
        client.state.withLock { state in
            buffer.send(state.session.signIn.watchlist)
            state.watchlistSequences.add(buffer)
        }
        return Watchlists(buffer: buffer)
    }
}

/// A watchlist as an asynchronous sequence: its current state first, then its state after every change.
public struct Watchlists: AsyncSequence, Sendable {
    /// Iterates over the states.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<Watchlist>

        /// Waits for the next state.
        public mutating func next() async -> Watchlist? { await next(isolation: nil) }

        /// Waits for the next state, on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Watchlist? {
            // The buffer keeps the newest elements: it never overflows, and is never finished with an error.
            try? await buffer.next(isolation: actor)
        }
    }

    let buffer: EventBuffer<Watchlist>

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
