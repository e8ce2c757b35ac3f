internal import Broker

/// The keys of an app's recovery.
enum RecoveryKeys {
    typealias Key = ConfigurationKey<AppConfiguration>

    static let all: [Key] = [
        Key(
            "recovery.enabled",
            \.recovery.isEnabled,
            .yesOrNo,
            help: "false: the broker ignores positions."
        ),
        Key(
            "recovery.rules",
            \.recoveryRules,
            listOf: RecoveryRuleKeys.all,
            blank: RecoveryRuleConfiguration(),
            help: """
                Rules for the channels with a prefix; the first that fits applies. What a rule \
                leaves out is as below.
                """
        ),
        Key(
            "recovery.messages_max",
            \.recovery.standard.messagesMax,
            messages,
            help: "Messages that a channel keeps; one more replaces the oldest."
        ),
        Key(
            "recovery.bytes_max",
            \.recovery.standard.bytesMax,
            bytes,
            help: "Bytes of messages that a channel keeps."
        ),
        Key(
            "recovery.age_max",
            \.recovery.standard.ageMax,
            age,
            help: """
                Seconds that a channel keeps a message. pusher-js takes up to 150 seconds to \
                notice a dead network.
                """
        ),
        Key(
            "recovery.retained_bytes_max",
            \.recovery.retainedBytesMax,
            SettingKind<Int>.bytes(in: (64 << 10)...(1 << 40)).orNone(),
            help: """
                Bytes of messages that all channels of the app keep; above it the oldest are \
                dropped. none: only limits.retained_bytes_total_max applies.
                """
        ),
        Key(
            "recovery.replay_messages_max",
            \.recovery.replayMessagesMax,
            messages,
            help: "Messages of one replay; a client that missed more is notified of a gap."
        ),
        Key(
            "recovery.replay_bytes_max",
            \.recovery.replayBytesMax,
            bytes,
            help: "Bytes of one replay; a client that missed more is notified of a gap."
        ),
        Key(
            "recovery.positions_max",
            \.recovery.positionsMax,
            .count("a number of channels", in: 1...100_000_000),
            help: """
                Channels without subscribers whose position is remembered, for a day. One more \
                replaces the channel that has been vacant longest.
                """
        ),
        Key(
            "recovery.sessions_max",
            \.recovery.sessionsMax,
            .count("a number of sessions", in: 1...100_000_000),
            help: """
                Sessions of stock clients with a token in their URL. One more replaces the session \
                whose client has been offline longest.
                """
        ),
        Key(
            "recovery.opened_streams_max",
            \.recovery.openedStreamsMax,
            .count("a number of channels", in: 1...100_000_000),
            help: """
                Public channels that clients track and on which nothing has been published; \
                further ones are refused. Once half is taken, one address gets at most a quarter.
                """
        ),
        Key(
            "recovery.session_bytes_max",
            \.recovery.sessionBytesMax,
            SettingKind<Int>.bytes(in: (64 << 10)...(1 << 40)),
            help: """
                Bytes of the positions of all sessions whose client is offline, about 150 for each \
                channel of a client. Beyond it, a client that reconnects is notified of a gap. \
                Once half is taken, one address gets at most a quarter.
                """
        ),
        Key(
            "recovery.session_age",
            \.recovery.sessionAge,
            .count("a number of seconds", in: 60...31_536_000),
            help: "Seconds that a session is kept after the end of its connection."
        ),
        Key(
            "recovery.resubscribe_grace",
            \.recovery.resubscribeGrace,
            .count("a number of seconds", in: 0...3_600),
            help: """
                Seconds for which a session keeps the position of a channel that its client has \
                left. Pages often leave a channel and subscribe to it again at once.
                """
        ),
    ]

    fileprivate static let messages =
        SettingKind<Int>.count("a number of messages", in: 0...10_000_000)
    fileprivate static let bytes = SettingKind<Int>.bytes(in: 0...(16 << 30))
    fileprivate static let age = SettingKind<Int>.count("a number of seconds", in: 1...31_536_000)
}

/// The keys of a rule.
enum RecoveryRuleKeys {
    typealias Key = ConfigurationKey<RecoveryRuleConfiguration>

    static let all: [Key] = [
        Key(
            "channel_prefix",
            \.settings.channelPrefix,
            .channelNamePart,
            example: "private-orders-",
            help: "The beginning of the channels' names. none: all channels."
        ),
        Key(
            "store",
            \.settings.store,
            .choice,
            help: """
                memory: a restart loses the messages, and clients are notified. sqlite: they are \
                in the file of recovery.database (below) before anyone gets them, and a restart \
                loses nothing.
                """
        ),
        Key(
            "keep",
            \.settings.keep,
            .choice,
            example: "always",
            help: """
                always: from the first event on. while_needed: from the first tracked subscription \
                on, while there are subscribers and age_max after the last.
                """
        ),
        Key(
            "rewind",
            \.settings.allowsRewind,
            .yesOrNo,
            example: "true",
            help: "true: clients may ask for earlier messages when they first subscribe."
        ),
        Key(
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
        Key(
            "opening_count",
            \.openingCount,
            openingCount.orNone(),
            example: "50",
            help: "The maximum number of these earlier messages. none: all that are kept."
        ),
        Key(
            "opening_seconds",
            \.openingSeconds,
            RecoveryKeys.age.orNone(),
            example: "60",
            help: "The maximum age of these earlier messages, in seconds. none: all that are kept."
        ),
        Key(
            "before_joining",
            \.settings.replaysBeforeJoining,
            .yesOrNo,
            help: """
                false: a client gets no replay from before its first subscription; not with rewind \
                or opening: replay.
                """
        ),
        Key(
            "keep_client_events",
            \.settings.keepsClientEvents,
            .yesOrNo,
            help: "false: client events are not kept."
        ),
        Key(
            "messages_max",
            \.messagesMax,
            RecoveryKeys.messages.orNone(),
            example: "10000",
            help: "Messages that each of these channels keeps."
        ),
        Key(
            "bytes_max",
            \.bytesMax,
            RecoveryKeys.bytes.orNone(),
            example: "16 MiB",
            help: "Bytes of messages that each of these channels keeps."
        ),
        Key(
            "age_max",
            \.ageMax,
            RecoveryKeys.age.orNone(),
            example: "86400",
            help: "Seconds that each of these channels keeps a message."
        ),
    ]

    private static let openingCount =
        SettingKind<Int>.count("a number of messages", in: 1...10_000_000)
}
