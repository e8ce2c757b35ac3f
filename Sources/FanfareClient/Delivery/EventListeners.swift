/// The events of a listener; `nil` means any.
struct Topic: Hashable, Sendable {
    /// A placeholder for the signed-in user's channel, whose name is not known in advance.
    static let user = SignedInUser.channelPrefix

    /// The channel.
    var channel: String?
    /// The event's name.
    var event: String?
}

/// The listeners to events, by topic.
struct EventListeners: Sendable {
    private var topics: [Topic: Listeners<ChannelEvent>] = [:]

    subscript(topic: Topic) -> Listeners<ChannelEvent> {
        get { topics[topic] ?? Listeners() }
        set { topics[topic] = newValue.isEmpty ? nil : newValue }
        _modify {
            yield &topics[topic, default: Listeners()]
            if topics[topic]?.isEmpty == true { topics[topic] = nil }
        }
    }

    /// Sends an event to the listeners of its channel and name, its channel, its name, and all events, in this order.
    func send(_ event: ChannelEvent, posted: (CallbackQueue, CallbackQueue.Load) -> Void) {
        let bytes = event.name.utf8.count + (event.data?.utf8.count ?? 0)
        var wanted = [Topic(event: event.name), Topic()]
        if let channel = event.channel {
            wanted.insert(
                contentsOf: [Topic(channel: channel, event: event.name), Topic(channel: channel)],
                at: 0
            )
        }
        for topic in wanted { topics[topic]?.send(event, bytes: bytes, posted: posted) }
    }

    /// Sends an event of the user to the listeners of its name and of all user events.
    func sendToUser(_ event: ChannelEvent, posted: (CallbackQueue, CallbackQueue.Load) -> Void) {
        let bytes = event.name.utf8.count + (event.data?.utf8.count ?? 0)
        for topic in [Topic(channel: Topic.user, event: event.name), Topic(channel: Topic.user)] {
            topics[topic]?.send(event, bytes: bytes, posted: posted)
        }
    }

    /// Ends the sequences of one channel, or of all channels.
    mutating func finish(channel: String? = nil, throwing error: FanfareError? = nil) {
        for topic in topics.keys where channel == nil || topic.channel == channel {
            self[topic].finish(throwing: error)
        }
    }
}
