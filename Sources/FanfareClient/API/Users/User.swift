public import Dispatch
import Synchronization

/// The user of a client: who is signed in, what the backend sends to them, and whom they watch.
///
/// ```swift
/// client.user.bind("message") { event in print(event.data ?? "") }
/// client.signIn()
/// ```
public struct User: Sendable {
    /// The client.
    public let client: FanfareClient

    /// Who is signed in on the present connection; `nil` for nobody.
    public var current: SignedInUser? { client.state.withLock { $0.session.signIn.user } }

    /// Whether the broker knows who the user is, on the present connection.
    public var isSignedIn: Bool { current != nil }

    /// Which of the users on the watchlist are there, as far as the broker has told on this connection.
    public var watchlist: Watchlist { client.state.withLock { $0.session.signIn.watchlist } }

    // MARK: Events

    /// Calls back on the main actor for each event that a backend sends to the user.
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

    /// Calls back on a serial queue for each event that a backend sends to the user.
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
        client.bind(Topic(channel: Topic.user, event: event), on: .queue(queue), perform)
    }

    /// Calls back on the main actor with the decoded data of each event of a name that a backend sends to the user.
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
        channel.bind(event, perform: perform)
    }

    /// The events that a backend sends to the user, from now on and whoever that is.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - bufferLimit: How many unread events are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func events(_ event: String? = nil, bufferLimit: Int = 1024) -> Events {
        channel.events(event, bufferLimit: bufferLimit)
    }

    /// The decoded data of the events of one name that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - bufferLimit: How many unread events are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func events<Payload>(
        _ event: EventName<Payload>,
        bufferLimit: Int = 1024
    ) -> DecodedEvents<Payload> {
        channel.events(event, bufferLimit: bufferLimit)
    }

    /// Where the user's events are listened to: what is no channel of the broker's is like one here.
    private var channel: Channel { Channel(name: Topic.user, client: client) }

    // MARK: Watchlist

    /// Calls back on the main actor with every change of the watchlist.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onWatchlistChange(
        perform: @escaping @MainActor @Sendable (WatchlistChange) -> Void
    ) -> Binding {
        onWatchlistChange(on: .main) { change in MainActor.assumeIsolated { perform(change) } }
    }

    /// Calls back on a serial queue with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onWatchlistChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (WatchlistChange) -> Void
    ) -> Binding {
        client.add(to: \.watchlists, on: .queue(queue), perform)
    }

    /// The watchlist as a sequence: what is known now, then after every change.
    ///
    /// A reader who falls more than 64 changes behind misses the oldest of them, never the latest.
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

/// A watchlist as an asynchronous sequence: what is known, then after every change.
public struct Watchlists: AsyncSequence, Sendable {
    /// Reads the states, one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<Watchlist>

        /// Waits for the next state.
        public mutating func next() async -> Watchlist? { await next(isolation: nil) }

        /// Waits for the next state, on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Watchlist? {
            // The buffer keeps the newest, so it never overflows, and nobody ends it by an error.
            try? await buffer.next(isolation: actor)
        }
    }

    let buffer: EventBuffer<Watchlist>

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
