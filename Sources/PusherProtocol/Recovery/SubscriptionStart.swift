/// Where a subscription begins in its channel's stream, as acknowledged to a client that tracks its position.
public struct SubscriptionStart: Equatable, Sendable {
    /// The relation to the position that the client sent.
    public enum Continuity: Equatable, Sendable {
        /// The client had no position.
        case began
        /// Nothing is missing: the next `replay` numbers of the stream follow, and then live events.
        case recovered(replay: Int)
        /// Messages are missing, or may be.
        case gap(RecoveryGap)
    }

    /// The client's position at the acknowledgement.
    public var position: ChannelPosition
    /// The relation to the position that the client sent.
    public var continuity: Continuity
    /// Whether a cached event follows that is not part of the stream.
    public var hasOpening = false
    /// Whether all messages of the requested rewind were kept; `nil` if none was requested.
    public var isRewindComplete: Bool?
    /// The number of earlier messages that follow a rewind.
    public var rewound = 0

    /// Creates the start of a subscription.
    public init(_ position: ChannelPosition, _ continuity: Continuity) {
        self.position = position
        self.continuity = continuity
    }

    /// Writes the members of the acknowledgement's data.
    public func write(to json: inout JSONWriter) {
        json.name("position")
        json.position(position)
        switch continuity {
        case .began:
            if rewound > 0 {
                json.name("replay")
                json.integer(rewound)
            }
        case .recovered(let replay):
            json.name("recovered")
            json.boolean(true)
            json.name("replay")
            json.integer(replay)
        case .gap(let gap):
            json.name("recovered")
            json.boolean(false)
            json.name("gap")
            gap.write(to: &json)
        }
        if let isRewindComplete {
            json.name("rewound")
            json.beginObject()
            json.name("complete")
            json.boolean(isRewindComplete)
            json.endObject()
        }
        if hasOpening {
            json.name("opening")
            json.boolean(true)
        }
    }

    /// Reads the data of `pusher_internal:subscription_succeeded`, a JSON object; `nil` from a broker that keeps no
    /// positions.
    public init?(acknowledgement data: String) {
        guard let members = try? MessageData(Array(data.utf8)),
            let object = members.object("position"),
            let position = try? ChannelPosition(object)
        else { return nil }
        let replay = max(0, members.integer("replay") ?? 0)
        if let gap = members.object("gap") {
            self.init(position, .gap(RecoveryGap(gap)))
        } else if members.boolean("recovered") == true {
            self.init(position, .recovered(replay: replay))
        } else {
            self.init(position, .began)
            rewound = replay
        }
        hasOpening = members.boolean("opening") ?? false
        isRewindComplete = members.object("rewound")?.boolean("complete")
    }
}

/// A gap in what a subscription has received.
public struct RecoveryGap: Equatable, Sendable {
    /// The reason why missed messages cannot be replayed.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        /// The reason in wire format.
        public let rawValue: String

        /// Creates a reason; brokers may add others.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stream is another one: after a restart, or because the channel was forgotten or purged.
        public static let unknownStream = Reason(rawValue: "unknown_stream")
        /// The first missed message is no longer kept.
        public static let truncated = Reason(rawValue: "truncated")
        /// More was missed than one replay may contain.
        public static let tooMuch = Reason(rawValue: "too_much")
        /// The position is one that the stream has not reached.
        public static let ahead = Reason(rawValue: "ahead")
        /// No messages of this channel are kept.
        public static let notKept = Reason(rawValue: "not_kept")
        /// The session of the client's token is no longer known.
        public static let unknownSession = Reason(rawValue: "unknown_session")
        /// Another client uses the same token.
        public static let sharedSession = Reason(rawValue: "shared_session")
    }

    /// The reason why missed messages cannot be replayed.
    public var reason: Reason
    /// The number of missed messages, if it is known.
    public var missed: UInt64?

    /// Creates a gap.
    public init(_ reason: Reason, missed: UInt64? = nil) {
        self.reason = reason
        self.missed = missed
    }

    init(_ members: MessageData) {
        self.init(
            Reason(rawValue: members.string("reason") ?? ""),
            missed: members.serial("missed")
        )
    }

    /// Writes the gap as an object.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.name("reason")
        json.string(reason.rawValue)
        if let missed {
            json.name("missed")
            json.integer(Int(missed))
        }
        json.endObject()
    }
}
