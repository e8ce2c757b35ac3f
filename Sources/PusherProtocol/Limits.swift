/// The limits of a broker; the raw values are the names in its metrics and documentation.
///
/// Every refusal because of a limit names the limit, so that it is counted; `fanfare check --limits` lists all of them
/// with key, default and consequence.
public enum Limit: String, CaseIterable, Sendable {
    // Connecting.
    case connections
    case connectionsPerAddress = "connections_per_address"
    case newConnections = "new_connections"
    case newConnectionsPerAddress = "new_connections_per_address"
    case handshakes
    case appConnections = "app_connections"
    case authorizationTime = "authorization_time"

    // Timeouts.
    case tlsHandshakeTime = "tls_handshake_time"
    case requestHeadTime = "request_head_time"
    case requestBodyTime = "request_body_time"
    case requestIdleTime = "request_idle_time"
    case answerTime = "answer_time"
    case pongTime = "pong_time"
    case triggerTime = "trigger_time"
    case messageTime = "message_time"

    // Sizes of messages and requests.
    case requestHeadLength = "request_head_length"
    case requestBodyLength = "request_body_length"
    case messageLength = "message_length"
    case messageFragments = "message_fragments"
    case channelNameLength = "channel_name_length"
    case eventDataLength = "event_data_length"
    case userInfoLength = "user_info_length"
    case triggerChannels = "trigger_channels"
    case batchEvents = "batch_events"

    // Rates.
    case requestRate = "requests"
    case triggerRate = "triggers"
    case queryRate = "queries"
    case terminationRate = "terminations"
    case subscriptionRate = "subscription_rate"
    case clientEventRate = "client_events"
    case faultRate = "faulty_messages"

    // Stored state and queues.
    case subscriptions
    case members
    case watchlist
    case cachedEvents = "cached_events"
    case idempotencyKeys = "idempotency_keys"
    case recoveryPositions = "recovery_positions"
    case recoverySessions = "recovery_sessions"
    case openedStreams = "opened_streams"
    case sessionBytes = "session_bytes"
    case appRetainedBytes = "app_retained_bytes"
    case retainedBytesTotal = "retained_bytes_total"
    case unstoredBytes = "unstored_bytes"
    case databaseBytes = "database_bytes"
    case archiveReadBytes = "archive_read_bytes"
    case queuedBytes = "queued_bytes"
    case appQueuedBytes = "app_queued_bytes"
    case queuedBytesTotal = "queued_bytes_total"
    case inboundBytes = "inbound_bytes"
    case relayedEvents = "relayed_events"
    case clusterQueuedBytes = "cluster_queued_bytes"
    case webhooksInFlight = "webhooks_in_flight"
    case webhooksQueued = "webhooks_queued"
    case webhookBytesQueued = "webhook_bytes_queued"
}

/// The limits of the protocol, with the values of Pusher's documentation and libraries.
public struct ProtocolLimits: Equatable, Sendable {
    /// The maximum length of a channel name, prefix included, in characters.
    ///
    /// 200 is what the official server libraries check; the hosted service documents 164.
    public var channelNameLengthMax = 200
    /// The maximum length of a user id, in characters.
    public var userIDLengthMax = 128
    /// The maximum length of an event name, in characters.
    public var eventNameLengthMax = 200
    /// The maximum length of an event's data, in bytes of the string with its JSON escapes decoded.
    ///
    /// This is the hosted service's; the broker's own default is ten times as much.
    public var dataLengthMax: Int
    /// Other limits for the channels with a prefix; the first that fits applies.
    public var dataRules: [DataLengthRule] = []
    /// The maximum number of channels of one trigger.
    public var channelsPerTriggerMax = 100
    /// The maximum number of events of one batch.
    public var eventsPerBatchMax = 10
    /// The maximum nesting of a peer's JSON.
    public var depthMax = JSONScanner.depthMaxDefault

    /// Creates the documented limits, with another one of data if a broker has it.
    public init(dataLengthMax: Int = 10_240) { self.dataLengthMax = dataLengthMax }

    /// The maximum length of the data of an event on a channel.
    func dataLength(of channel: String) -> DataLengthLimit {
        // Nearly always there are none.
        guard !dataRules.isEmpty,
            let rule = dataRules.first(where: {
                channel.utf8.starts(with: $0.channelPrefix.utf8)
            })
        else { return DataLengthLimit(max: dataLengthMax, key: "event_data_length_max") }
        return DataLengthLimit(max: rule.lengthMax, key: "event_data_rules")
    }

    /// The maximum length of the data of an event, while its channel is not known.
    package var longestData: DataLengthLimit {
        let longest = dataRules.reduce(dataLengthMax) { max($0, $1.lengthMax) }
        return DataLengthLimit(
            max: longest,
            key: longest == dataLengthMax ? "event_data_length_max" : "event_data_rules"
        )
    }
}

/// The limit of the data of events on the channels with a prefix.
public struct DataLengthRule: Equatable, Sendable {
    /// The beginning of the channels' names.
    public var channelPrefix: String
    /// The maximum length, in bytes of the string with its JSON escapes decoded.
    public var lengthMax: Int

    /// Creates a rule.
    public init(channelPrefix: String, lengthMax: Int) {
        self.channelPrefix = channelPrefix
        self.lengthMax = lengthMax
    }
}

/// A limit of an event's data, and the key of an app's configuration that sets it.
package struct DataLengthLimit {
    package var max: Int
    var key: String
}
