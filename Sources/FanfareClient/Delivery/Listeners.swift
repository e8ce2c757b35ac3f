/// The events that a listener receives; `nil` means any.
struct Topic: Hashable, Sendable {
    /// A placeholder for the signed-in user's channel, whose name is not known in advance.
    static let user = SignedInUser.channelPrefix

    /// The channel.
    var channel: String?
    /// The event's name.
    var event: String?
}

/// An element for a reader that loads a state of the app before the channel's events.
enum FollowedEvent: Sendable {
    /// The subscription is confirmed and begins at this position; the app handles it by loading its state.
    case confirmed(Continuity, at: ChannelPosition?, Handling?)
    /// An event.
    case event(ChannelEvent, at: ChannelPosition?)

    /// Whether an earlier state is obsolete.
    var isLoss: Bool {
        switch self {
        case .confirmed(.resumed, _, _), .event: false
        case .confirmed: true
        }
    }
}

/// The callbacks and the sequences of events, by topic.
struct EventListeners: Sendable {
    var callbacks = ListenerTable<Topic, Listeners<ChannelEvent>>()
    var sequences = ListenerTable<Topic, EventBuffers<Delivery<ChannelEvent>>>()
    /// The readers that load a state before the events.
    var followers = ListenerTable<Topic, EventBuffers<FollowedEvent>>()

    /// Sends an event to the listeners of its channel and name, its channel, its name, and all events, in this order.
    func send(
        _ event: ChannelEvent,
        _ handling: Handling? = nil,
        isKnownToCallbacks: Bool = false,
        posted: (any EventReader, Load) -> Void
    ) {
        var topics = [Topic(event: event.name), Topic()]
        if let channel = event.channel {
            topics.insert(
                contentsOf: [Topic(channel: channel, event: event.name), Topic(channel: channel)],
                at: 0
            )
        }
        send(event, handling, to: topics, isKnownToCallbacks: isKnownToCallbacks, posted)
    }

    /// Sends an event of the user to the listeners of its name and of all user events.
    func sendToUser(
        _ event: ChannelEvent,
        _ handling: Handling? = nil,
        posted: (any EventReader, Load) -> Void
    ) {
        let topics = [Topic(channel: Topic.user, event: event.name), Topic(channel: Topic.user)]
        send(event, handling, to: topics, posted)
    }

    private func send(
        _ event: ChannelEvent,
        _ handling: Handling?,
        to topics: [Topic],
        isKnownToCallbacks: Bool = false,
        _ posted: (any EventReader, Load) -> Void
    ) {
        let bytes = event.name.utf8.count + (event.data?.utf8.count ?? 0)
        for topic in topics {
            // Those of all channels belong to no subscription.
            if !isKnownToCallbacks || topic.channel == nil {
                callbacks[topic].send(event, bytes: bytes, retaining: handling, posted: posted)
            }
            let position = handling?.position
            sequences[topic].send(
                .event(event, at: position),
                bytes: bytes,
                at: position,
                retaining: handling,
                posted: posted
            )
            followers[topic].send(
                .event(event, at: position),
                bytes: bytes,
                at: position,
                retaining: handling,
                posted: posted
            )
        }
    }

    /// Sends the confirmation of a subscription to the readers that load a state before the channel's events.
    ///
    /// A reader that begins at a later position has its state, unless there is a gap.
    func send(
        _ continuity: Continuity,
        at position: ChannelPosition?,
        toFollowersOf channel: String,
        _ handling: Handling?
    ) {
        let isGap = continuity.gap(isAgain: true) != nil
        for topic in followers.keys where topic.channel == channel {
            followers[topic].send(
                .confirmed(continuity, at: position, handling),
                at: isGap ? nil : position
            )
        }
    }

    /// Sends a gap to the sequences of one lease.
    func send(_ gap: Gap, toLease lease: Int, of channel: String) {
        for topic in sequences.keys where topic.channel == channel {
            sequences[topic].send(.gap(gap), toLease: lease)
        }
    }

    /// Sends a gap before a position to the readers of one lease that load a state.
    func send(
        _ gap: Gap,
        at position: ChannelPosition?,
        toFollowersOf lease: Int,
        of channel: String
    ) {
        for topic in followers.keys where topic.channel == channel {
            followers[topic].send(.confirmed(.gap(gap), at: position, nil), toLease: lease)
        }
    }

    /// Delivers all events from now on to the readers of a channel, wherever they began.
    mutating func clearStarts(of channel: String) {
        for topic in Array(sequences.keys) where topic.channel == channel {
            sequences[topic].clearStarts()
        }
        for topic in Array(followers.keys) where topic.channel == channel {
            followers[topic].clearStarts()
        }
    }

    /// Sends a delivery that is not an event to the sequences of one channel.
    func send(
        _ delivery: Delivery<ChannelEvent>,
        toSequencesOf channel: String,
        _ handling: Handling? = nil
    ) {
        for topic in sequences.keys where topic.channel == channel {
            sequences[topic].send(delivery, retaining: handling)
        }
    }

    /// Ends the sequences of one channel, or of all.
    mutating func finish(channel: String? = nil, throwing error: FanfareError? = nil) {
        for topic in Array(sequences.keys) where channel == nil || topic.channel == channel {
            sequences[topic].finish(throwing: error)
        }
        for topic in Array(followers.keys) where channel == nil || topic.channel == channel {
            followers[topic].finish(throwing: error)
        }
    }
}

/// The callbacks for one kind of value, in the order of registration.
struct Listeners<Value: Sendable>: Sendable {
    private struct Listener: Sendable {
        let token: ListenerToken
        let queue: CallbackQueue
        let callback: Callback<Value>
    }

    private var listeners: [Listener] = []

    var isEmpty: Bool { listeners.isEmpty }

    /// Adds a callback.
    mutating func add(
        _ callback: Callback<Value>,
        _ token: ListenerToken,
        on queue: CallbackQueue
    ) {
        listeners.append(Listener(token: token, queue: queue, callback: callback))
    }

    /// Posts a value to every callback.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - bytes: The approximate memory of the value.
    ///   - handling: Retained until the callback has returned.
    ///   - posted: Called for each queue that received a call, with the queue's load.
    func send(
        _ value: Value,
        bytes: Int = 0,
        retaining handling: Handling? = nil,
        posted: (any EventReader, Load) -> Void = { _, _ in }
    ) {
        for listener in listeners {
            let callback = listener.callback
            let load = listener.queue.post(
                for: listener.token,
                bytes: bytes,
                retaining: handling
            ) { actor in
                await callback.call(with: value, on: actor)
            }
            posted(listener.queue, load)
        }
    }

    /// Removes the callback of a token, and returns the previous listeners, which the caller must release outside the
    /// lock.
    mutating func remove(_ token: ListenerToken) -> any Sendable {
        let before = listeners
        listeners.removeAll { $0.token === token }
        return before
    }
}

/// The buffers of the readers of one kind of sequence.
struct EventBuffers<Element: Sendable>: Sendable {
    private struct Reference: Sendable {
        /// Retained by the reader; `nil` once the reader has released it.
        weak let buffer: EventBuffer<Element>?
        /// The lease of the reader, and what the app has already.
        var start: LeaseStart?
    }

    private var buffers: [Reference] = []

    var isEmpty: Bool { buffers.isEmpty }

    /// Adds a buffer, and removes the buffers of deallocated readers.
    ///
    /// - Parameters:
    ///   - buffer: The reader's buffer.
    ///   - start: The lease of the reader, and where it begins.
    mutating func add(_ buffer: EventBuffer<Element>, from start: LeaseStart? = nil) {
        buffers.removeAll { $0.buffer == nil }
        buffers.append(Reference(buffer: buffer, start: start))
    }

    /// Sends an element to every reader of a lease.
    func send(_ element: Element, toLease lease: Int) {
        for reference in buffers where reference.start?.lease == lease {
            reference.buffer?.send(element)
        }
    }

    /// Sends later elements to every reader, wherever it began.
    mutating func clearStarts() {
        for index in buffers.indices { buffers[index].start?.position = nil }
    }

    /// Sends an element to every reader, except those that begin after its position.
    func send(
        _ element: Element,
        bytes: Int = 0,
        at position: ChannelPosition? = nil,
        retaining handling: Handling? = nil,
        posted: (any EventReader, Load) -> Void = { _, _ in }
    ) {
        for reference in buffers where reference.start?.includes(position) != true {
            guard let buffer = reference.buffer else { continue }
            posted(buffer, buffer.send(element, bytes: bytes, retaining: handling))
        }
    }

    /// Ends the sequences.
    mutating func finish(throwing error: FanfareError? = nil) {
        for reference in buffers { reference.buffer?.finish(throwing: error) }
        buffers = []
    }
}

/// Listeners or buffers by key, without empty entries.
struct ListenerTable<Key: Hashable & Sendable, Entry: ListenerEntry>: Sendable {
    private var entries: [Key: Entry] = [:]

    /// The keys that have listeners.
    var keys: some Collection<Key> { entries.keys }

    subscript(key: Key) -> Entry {
        get { entries[key] ?? Entry() }
        set { entries[key] = newValue.isEmpty ? nil : newValue }
        _modify {
            yield &entries[key, default: Entry()]
            if entries[key]?.isEmpty == true { entries[key] = nil }
        }
    }
}

/// An entry of a ``ListenerTable``.
protocol ListenerEntry: Sendable {
    init()
    var isEmpty: Bool { get }
}

extension Listeners: ListenerEntry {}
extension EventBuffers: ListenerEntry {}
