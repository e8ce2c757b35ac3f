/// The limits of a broker, by the names that its metrics and its documentation use.
///
/// Whoever refuses something because a limit is met names the limit, so that it is counted; `fanfare check --limits`
/// lists them all, with their keys, their defaults and what happens.
public enum Limit: String, CaseIterable, Sendable {
    // Who may come in.
    case connections
    case connectionsPerAddress = "connections_per_address"
    case newConnections = "new_connections"
    case newConnectionsPerAddress = "new_connections_per_address"
    case handshakes
    case appConnections = "app_connections"
    case authorizationTime = "authorization_time"

    // How long somebody may take.
    case tlsHandshakeTime = "tls_handshake_time"
    case requestHeadTime = "request_head_time"
    case requestBodyTime = "request_body_time"
    case requestIdleTime = "request_idle_time"
    case pongTime = "pong_time"
    case triggerTime = "trigger_time"
    case messageTime = "message_time"

    // How much somebody may send at once.
    case requestHeadLength = "request_head_length"
    case requestBodyLength = "request_body_length"
    case messageLength = "message_length"
    case messageFragments = "message_fragments"
    case channelNameLength = "channel_name_length"
    case eventDataLength = "event_data_length"
    case userInfoLength = "user_info_length"
    case triggerChannels = "trigger_channels"
    case batchEvents = "batch_events"

    // How often.
    case requestRate = "requests"
    case triggerRate = "triggers"
    case queryRate = "queries"
    case terminationRate = "terminations"
    case subscriptionRate = "subscription_rate"
    case clientEventRate = "client_events"
    case faultRate = "faulty_messages"

    // How much is kept for somebody.
    case subscriptions
    case members
    case watchlist
    case cachedEvents = "cached_events"
    case queuedBytes = "queued_bytes"
    case appQueuedBytes = "app_queued_bytes"
    case queuedBytesTotal = "queued_bytes_total"
    case inboundBytes = "inbound_bytes"
    case relayedEvents = "relayed_events"
    case webhooksInFlight = "webhooks_in_flight"
    case webhooksQueued = "webhooks_queued"
    case webhookBytesQueued = "webhook_bytes_queued"
}
