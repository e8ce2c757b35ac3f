internal import Logging
internal import Net

/// A key of the configuration file: its path, its kind, and the property that it sets.
///
/// The tables of keys are the one place that knows which keys there are. The reading of files,
/// environment and options, the proposals for misspelt keys and the bounds all follow from them.
struct ConfigurationKey<Root: Sendable>: Sendable {
    /// The path inside `Root`: `listen.port` of a configuration, `secret` of an app.
    let path: String
    /// Whether a list item must have it.
    let isRequired: Bool
    /// What to write, as what follows "must be".
    let expectation: String
    /// Sets the property; false when the value is not of the kind.
    let assign: @Sendable (Setting.Value, inout Root) -> Bool
    /// Whether the property is within its bounds.
    let holds: @Sendable (Root) -> Bool
    /// The property as one would write it.
    let text: @Sendable (Root) -> String

    init<Value: Sendable>(
        _ path: String,
        _ property: any WritableKeyPath<Root, Value> & Sendable,
        _ kind: SettingKind<Value>,
        isRequired: Bool = false
    ) {
        self.path = path
        self.isRequired = isRequired
        expectation = kind.expectation
        assign = { setting, root in
            guard case .text(let text, _) = setting else { return false }
            let value = setting.isNone ? kind.absence : kind.read(text)
            guard let value else { return false }
            root[keyPath: property] = value
            return true
        }
        holds = { kind.holds($0[keyPath: property]) }
        text = { kind.text($0[keyPath: property]) }
    }
}

extension ConfigurationKey<Configuration> {
    /// The keys outside lists, in the order of the example file.
    static let all: [Self] = [
        Self("listen.host", \.host, .address),
        Self("listen.port", \.port, SettingKind<UInt16>.port.orNone()),
        Self(
            "listen.unix_socket",
            \.unixSocket,
            // sockaddr_un has room for 108 bytes, the last of which is the end of the text (unix(7)).
            SettingKind<String>.path("the path of a socket to make", lengthMax: 107).orNone()
        ),
        Self("listen.path_prefix", \.pathPrefix, .pathPrefix),
        Self("tls.port", \.tlsPort, SettingKind<UInt16>.port.orNone()),
        Self("loops", \.loops, .count("a number of threads", in: 0...1_024)),
        Self(
            "clients.activity_timeout",
            \.activityTimeout,
            .count("a number of seconds", in: 1...86_400)
        ),
        Self("clients.pong_timeout", \.pongTimeout, .count("a number of seconds", in: 1...3_600)),
        Self(
            "limits.connections_max",
            \.connectionsMax,
            SettingKind<Int>.count("a number of connections", in: 1...100_000_000).orNone()
        ),
        Self("limits.message_length_max", \.messageLengthMax, .bytes(in: 1_024...(16 << 20))),
        Self("limits.queued_bytes_max", \.queuedBytesMax, .bytes(in: (64 << 10)...(1 << 30))),
        Self(
            "limits.request_body_length_max",
            \.requestBodyLengthMax,
            .bytes(in: 1_024...(256 << 20))
        ),
        Self("compression.enabled", \.compression.isEnabled, .yesOrNo),
        Self("compression.threshold", \.compression.threshold, .bytes(in: 0...(16 << 20))),
        Self("shutdown_deadline", \.shutdownDeadline, .count("a number of seconds", in: 0...3_600)),
        Self("log.level", \.log.level, .choice),
        Self("log.format", \.log.format, .choice),
    ]
}

extension ConfigurationKey<AppConfiguration> {
    /// The keys of an app.
    static let all: [Self] = [
        Self("id", \.id, .word, isRequired: true),
        Self("key", \.key, .word, isRequired: true),
        Self("secret", \.secret, .secret, isRequired: true),
        Self("enabled", \.isEnabled, .yesOrNo),
        Self(
            "connections_max",
            \.connectionsMax,
            SettingKind<Int>.count("a number of connections", in: 1...100_000_000).orNone()
        ),
        Self(
            "subscriptions_max",
            \.subscriptionsMax,
            .count("a number of channels", in: 1...10_000_000)
        ),
        Self("event_data_length_max", \.eventDataLengthMax, .bytes(in: 1...(16 << 20))),
        Self(
            "channel_name_length_max",
            \.channelNameLengthMax,
            .count("a number of characters", in: 1...1_000)
        ),
        Self("members_max", \.membersMax, .count("a number of members", in: 1...1_000_000)),
        Self("user_info_length_max", \.userInfoLengthMax, .bytes(in: 0...(1 << 20))),
    ]
}

extension ConfigurationKey<CertificateFiles> {
    /// The keys of a certificate.
    static let all: [Self] = [
        Self("certificate", \.certificate, .path("the path of a PEM file"), isRequired: true),
        Self("key", \.key, .path("the path of a PEM file"), isRequired: true),
    ]
}
