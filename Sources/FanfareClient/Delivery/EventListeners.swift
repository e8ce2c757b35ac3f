/// The events of a listener; `nil` means any.
struct Topic: Hashable, Sendable {
    /// A placeholder for the signed-in user's channel, whose name is not known in advance.
    static let user = SignedInUser.channelPrefix

    /// The channel.
    var channel: String?
    /// The event's name.
    var event: String?
}

/// The callbacks and the sequences of events, by topic.
struct EventListeners: Sendable {
    var callbacks = ListenerTable<Topic, Listeners<ChannelEvent>>()
    var sequences = ListenerTable<Topic, EventBuffers<Delivery<ChannelEvent>>>()

    /// Sends an event to the listeners of its channel and name, its channel, its name, and all events, in this order.
    func send(_ event: ChannelEvent, posted: (any EventReader, Load) -> Void) {
        var topics = [Topic(event: event.name), Topic()]
        if let channel = event.channel {
            topics.insert(
                contentsOf: [Topic(channel: channel, event: event.name), Topic(channel: channel)],
                at: 0
            )
        }
        send(event, to: topics, posted)
    }

    /// Sends an event of the user to the listeners of its name and of all user events.
    func sendToUser(_ event: ChannelEvent, posted: (any EventReader, Load) -> Void) {
        let topics = [Topic(channel: Topic.user, event: event.name), Topic(channel: Topic.user)]
        send(event, to: topics, posted)
    }

    private func send(
        _ event: ChannelEvent,
        to topics: [Topic],
        _ posted: (any EventReader, Load) -> Void
    ) {
        let bytes = event.name.utf8.count + (event.data?.utf8.count ?? 0)
        for topic in topics {
            callbacks[topic].send(event, bytes: bytes, posted: posted)
            sequences[topic].send(.event(event, at: nil), bytes: bytes, posted: posted)
        }
    }

    /// Tells the sequences of one channel that events may be missing.
    func sendGap(_ gap: Gap, channel: String) {
        for topic in sequences.keys where topic.channel == channel {
            sequences[topic].send(.gap(gap))
        }
    }

    /// Ends the sequences of one channel, or of all.
    mutating func finish(channel: String? = nil, throwing error: FanfareError? = nil) {
        for topic in Array(sequences.keys) where channel == nil || topic.channel == channel {
            sequences[topic].finish(throwing: error)
        }
    }
}
