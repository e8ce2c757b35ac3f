import PusherProtocol

/// The party that notices first when a limit is reached; `docs/limits.md` has a table for each.
enum LimitAudience: String, CaseIterable {
    case newConnections = "A new connection"
    case clients = "A connected client"
    case returningClients = "A client that reconnects"
    case backends = "A backend"
    case webhookEndpoints = "A webhook endpoint"
}

extension Limit {
    /// The party that notices first.
    var audience: LimitAudience {
        switch self {
        case .connections, .connectionsPerAddress, .newConnections, .newConnectionsPerAddress,
            .handshakes, .appConnections, .authorizationTime, .tlsHandshakeTime, .requestHeadTime,
            .requestIdleTime, .requestHeadLength:
            .newConnections
        case .pongTime, .messageTime, .messageLength, .messageFragments, .channelNameLength,
            .userInfoLength, .subscriptionRate, .clientEventRate, .faultRate, .subscriptions,
            .members, .watchlist, .cachedEvents, .queuedBytes, .appQueuedBytes, .queuedBytesTotal,
            .openedStreams:
            .clients
        case .recoveryPositions, .recoverySessions, .appRetainedBytes, .retainedBytesTotal,
            .databaseBytes, .archiveReadBytes, .sessionBytes:
            .returningClients
        case .answerTime, .triggerTime, .requestBodyTime, .requestBodyLength, .eventDataLength,
            .triggerChannels, .batchEvents, .requestRate, .triggerRate, .queryRate,
            .terminationRate, .idempotencyKeys, .inboundBytes, .relayedEvents, .unstoredBytes,
            .clusterQueuedBytes:
            .backends
        case .webhooksInFlight, .webhooksQueued, .webhookBytesQueued: .webhookEndpoints
        }
    }
}
