package import Broker

/// The configuration of an app's recovery: what its channels keep for clients that come back.
public struct RecoveryConfiguration: Sendable, Hashable {
    /// Whether clients may track their positions; if not, the broker ignores positions.
    public var isEnabled = true
    /// The rules by channel; the first whose prefix fits applies.
    public var rules: [Rule] = []
    /// The maximum number of kept messages of a channel.
    public var messagesMax = 1_000
    /// The maximum size of the kept messages of a channel, in bytes.
    public var bytesMax = 1 << 20
    /// How long a message is kept, in seconds.
    public var ageMax = 300
    /// The maximum size of all kept messages of the app, in bytes; `nil` for the limit of the process.
    public var retainedBytesMax: Int?
    /// The maximum number of messages of one replay.
    public var replayMessagesMax = 10_000
    /// The maximum size of one replay, in bytes.
    public var replayBytesMax = 4 << 20
    /// The maximum number of channels without subscribers whose position is remembered.
    public var positionsMax = 100_000
    /// The maximum number of sessions of stock clients with a token.
    public var sessionsMax = 100_000
    /// The maximum number of public channels with subscribers and a stream on which nothing was published.
    public var openedStreamsMax = 100_000
    /// The maximum size of the positions of all sessions without a connection, in bytes, about.
    public var sessionBytesMax = 256 << 20
    /// How long a session is kept behind the end of its connection, in seconds.
    public var sessionAge = 300

    /// Creates the default: memory, 300 seconds, from the first tracked subscription on.
    public init() {}

    /// A rule for the channels with a prefix; what it leaves out is as for all other channels.
    public struct Rule: Sendable, Hashable {
        /// The beginning of the channels' names.
        public var channelPrefix = ""
        /// Where the channels keep messages.
        public var store = Store.memory
        /// When the channels keep messages.
        public var keep = Keep.whileNeeded
        /// Whether a client without a position may ask for earlier messages.
        public var allowsRewind = false
        /// What a client without a position gets behind its acknowledgement.
        public var opening = Opening.live
        /// The maximum number of earlier messages of an opening; `nil` for all that are kept.
        public var openingCount: Int?
        /// The age of the earliest message of an opening, in seconds; `nil` for all that are kept.
        public var openingSeconds: Int?
        /// Whether a client may resume from a position before its first subscription.
        public var replaysBeforeJoining = true
        /// Whether client events are kept too.
        public var keepsClientEvents = true
        /// The maximum number of kept messages of a channel.
        public var messagesMax: Int?
        /// The maximum size of the kept messages of a channel, in bytes.
        public var bytesMax: Int?
        /// How long a message is kept, in seconds.
        public var ageMax: Int?

        /// Creates a rule of all channels that changes nothing.
        public init() {}
    }

    /// What precedes live messages for a client without a position.
    public enum Opening: String, Sendable, CaseIterable {
        /// Nothing.
        case live
        /// Earlier messages.
        case replay
    }

    /// Where channels keep messages.
    public enum Store: String, Sendable, CaseIterable {
        /// In memory: a restart forgets them, and tells it.
        case memory
        /// In the file of `recovery.database`, before anybody sees them.
        case sqlite
    }

    /// When channels keep messages.
    public enum Keep: String, Sendable, CaseIterable {
        /// From the first tracked subscription on.
        case whileNeeded = "while_needed"
        /// From the first message on.
        case always
    }
}

extension ConfigurationKey<AppConfiguration> {
    /// The keys of the recovery.
    static let recovery: [Self] = [
        Self(
            "recovery.enabled",
            \.recovery.isEnabled,
            .yesOrNo,
            help: "false: the broker ignores positions."
        ),
        Self(
            "recovery.rules",
            \.recovery.rules,
            listOf: ConfigurationKey<RecoveryConfiguration.Rule>.all,
            blank: RecoveryConfiguration.Rule(),
            help: """
                Rules for the channels with a prefix; the first that fits applies. What a rule \
                leaves out is as below.
                """
        ),
        Self(
            "recovery.messages_max",
            \.recovery.messagesMax,
            messages,
            help: "Messages that a channel keeps; one more replaces the oldest."
        ),
        Self(
            "recovery.bytes_max",
            \.recovery.bytesMax,
            bytes,
            help: "Bytes of messages that a channel keeps."
        ),
        Self(
            "recovery.age_max",
            \.recovery.ageMax,
            age,
            help: """
                Seconds that a channel keeps a message. pusher-js takes up to 150 seconds to \
                notice a dead network.
                """
        ),
        Self(
            "recovery.retained_bytes_max",
            \.recovery.retainedBytesMax,
            SettingKind<Int>.bytes(in: (64 << 10)...(1 << 40)).orNone(),
            help: """
                Bytes of messages that all channels of the app keep; above it the oldest are \
                dropped. none: only limits.retained_bytes_total_max applies.
                """
        ),
        Self(
            "recovery.replay_messages_max",
            \.recovery.replayMessagesMax,
            messages,
            help: "Messages of one replay; a client that missed more is notified of a gap."
        ),
        Self(
            "recovery.replay_bytes_max",
            \.recovery.replayBytesMax,
            bytes,
            help: "Bytes of one replay; a client that missed more is notified of a gap."
        ),
        Self(
            "recovery.positions_max",
            \.recovery.positionsMax,
            .count("a number of channels", in: 1...100_000_000),
            help: """
                Channels without subscribers whose position is remembered, for a day. One more \
                replaces the channel that has been vacant longest.
                """
        ),
        Self(
            "recovery.sessions_max",
            \.recovery.sessionsMax,
            .count("a number of sessions", in: 1...100_000_000),
            help: """
                Sessions of stock clients with a token in their URL. One more replaces the session \
                whose client has been offline longest.
                """
        ),
        Self(
            "recovery.opened_streams_max",
            \.recovery.openedStreamsMax,
            .count("a number of channels", in: 1...100_000_000),
            help: """
                Public channels that clients track and on which nothing has been published; \
                further ones are refused. Once half is taken, one address gets at most a quarter.
                """
        ),
        Self(
            "recovery.session_bytes_max",
            \.recovery.sessionBytesMax,
            SettingKind<Int>.bytes(in: (64 << 10)...(1 << 40)),
            help: """
                Bytes of the positions of all sessions whose client is offline, about 150 for each \
                channel of a client. Beyond it, a client that reconnects is notified of a gap. \
                Once half is taken, one address gets at most a quarter.
                """
        ),
        Self(
            "recovery.session_age",
            \.recovery.sessionAge,
            .count("a number of seconds", in: 60...31_536_000),
            help: "Seconds that a session is kept after the end of its connection."
        ),
    ]

    fileprivate static let messages =
        SettingKind<Int>.count("a number of messages", in: 0...10_000_000)
    fileprivate static let bytes = SettingKind<Int>.bytes(in: 0...(16 << 30))
    fileprivate static let age = SettingKind<Int>.count("a number of seconds", in: 1...31_536_000)
}

extension ConfigurationKey<RecoveryConfiguration.Rule> {
    /// The keys of a rule.
    static let all: [Self] = [
        Self(
            "channel_prefix",
            \.channelPrefix,
            .channelNamePart,
            example: "private-orders-",
            help: "The beginning of the channels' names. none: all channels."
        ),
        Self(
            "store",
            \.store,
            .choice,
            help: """
                memory: a restart loses the messages, and clients are notified. sqlite: they are \
                in the file of recovery.database (below) before anyone gets them, and a restart \
                loses nothing.
                """
        ),
        Self(
            "keep",
            \.keep,
            .choice,
            example: "always",
            help: """
                always: from the first event on. while_needed: from the first tracked subscription \
                on, while there are subscribers and age_max after the last.
                """
        ),
        Self(
            "rewind",
            \.allowsRewind,
            .yesOrNo,
            example: "true",
            help: "true: clients may ask for earlier messages when they first subscribe."
        ),
        Self(
            "opening",
            \.opening,
            .choice,
            example: "replay",
            help: """
                replay: a subscription without a position gets earlier messages, also from stock \
                clients: a page that starts a job and then subscribes misses nothing. Needs keep: \
                always. live: it gets only later ones.
                """
        ),
        Self(
            "opening_count",
            \.openingCount,
            openingCount.orNone(),
            example: "50",
            help: "The maximum number of these earlier messages. none: all that are kept."
        ),
        Self(
            "opening_seconds",
            \.openingSeconds,
            ConfigurationKey<AppConfiguration>.age.orNone(),
            example: "60",
            help: "The maximum age of these earlier messages, in seconds. none: all that are kept."
        ),
        Self(
            "before_joining",
            \.replaysBeforeJoining,
            .yesOrNo,
            help: """
                false: a client gets no replay from before its first subscription; not with rewind \
                or opening: replay.
                """
        ),
        Self(
            "keep_client_events",
            \.keepsClientEvents,
            .yesOrNo,
            help: "false: client events are not kept."
        ),
        Self(
            "messages_max",
            \.messagesMax,
            ConfigurationKey<AppConfiguration>.messages.orNone(),
            example: "10000",
            help: "Messages that each of these channels keeps."
        ),
        Self(
            "bytes_max",
            \.bytesMax,
            ConfigurationKey<AppConfiguration>.bytes.orNone(),
            example: "16 MiB",
            help: "Bytes of messages that each of these channels keeps."
        ),
        Self(
            "age_max",
            \.ageMax,
            ConfigurationKey<AppConfiguration>.age.orNone(),
            example: "86400",
            help: "Seconds that each of these channels keeps a message."
        ),
    ]

    private static let openingCount =
        SettingKind<Int>.count("a number of messages", in: 1...10_000_000)
}

extension RecoverySettings {
    /// The settings that the configuration describes.
    package init(_ configuration: RecoveryConfiguration) {
        let standard = RecoveryRule(
            messagesMax: configuration.messagesMax,
            bytesMax: configuration.bytesMax,
            ageMax: configuration.ageMax
        )
        self.init(
            isEnabled: configuration.isEnabled,
            rules: configuration.rules.map { RecoveryRule($0, standard) },
            standard: standard,
            retainedBytesMax: configuration.retainedBytesMax,
            replayMessagesMax: configuration.replayMessagesMax,
            replayBytesMax: configuration.replayBytesMax,
            positionsMax: configuration.positionsMax,
            openedStreamsMax: configuration.openedStreamsMax,
            sessionsMax: configuration.sessionsMax,
            sessionBytesMax: configuration.sessionBytesMax,
            sessionAge: configuration.sessionAge
        )
    }
}

extension RecoveryRule {
    fileprivate init(_ rule: RecoveryConfiguration.Rule, _ standard: RecoveryRule) {
        self.init(
            channelPrefix: rule.channelPrefix,
            store: rule.store == .sqlite ? .archive : .memory,
            keep: rule.keep == .always ? .always : .whileNeeded,
            allowsRewind: rule.allowsRewind,
            opening: rule.opening == .replay
                ? .replay(count: rule.openingCount, seconds: rule.openingSeconds) : .live,
            replaysBeforeJoining: rule.replaysBeforeJoining,
            keepsClientEvents: rule.keepsClientEvents,
            messagesMax: rule.messagesMax ?? standard.messagesMax,
            bytesMax: rule.bytesMax ?? standard.bytesMax,
            ageMax: rule.ageMax ?? standard.ageMax
        )
    }
}
