import PusherProtocol
import Testing

@testable import FanfareServer

/// Each row of the table of limits, driven beyond its limit wherever a broker keeps its data.
///
/// The tests are those of ``LimitTableTests``, with their answers; that the limit is met and holds is expected here.
@Suite("Every limit holds in memory, with the file and in a cluster", .timeLimit(.minutes(2)))
struct StoreLimitTests {
    /// The places other than memory, in which the suites run, with the limits that hold there.
    private static let cases: [(place: BrokerVariant.Place, limit: Limit)] =
        BrokerVariant.Place.allCases.flatMap { place in
            Limit.allCases.filter { isHeld($0, in: place) }.map { (place, $0) }
        }

    /// Whether a limit exists in a place.
    private static func isHeld(_ limit: Limit, in place: BrokerVariant.Place) -> Bool {
        switch limit {
        case .unstoredBytes, .databaseBytes, .archiveReadBytes: place == .file
        case .clusterQueuedBytes: place == .cluster
        // Of channels in the file memory keeps too little to reach this one.
        case .retainedBytesTotal: place != .file
        default: true
        }
    }

    @Test("Is met, counted and held", arguments: cases)
    func holds(place: BrokerVariant.Place, limit: Limit) async throws {
        switch limit {
        // These set up their places themselves.
        case .unstoredBytes, .databaseBytes, .archiveReadBytes, .clusterQueuedBytes:
            return try await hit(limit)
        default: break
        }
        try await BrokerVariant.run(in: place, hitting: limit) { try await hit(limit) }
    }

    private func hit(_ limit: Limit) async throws {
        switch limit {
        case .connections, .connectionsPerAddress, .newConnections, .newConnectionsPerAddress,
            .handshakes, .appConnections, .authorizationTime:
            try await hitAdmission(limit)
        case .tlsHandshakeTime, .requestHeadTime, .requestBodyTime, .requestIdleTime, .answerTime,
            .pongTime, .triggerTime, .messageTime:
            try await hitTime(limit)
        case .requestHeadLength, .requestBodyLength, .messageLength, .messageFragments,
            .channelNameLength, .eventDataLength, .triggerChannels, .batchEvents, .userInfoLength:
            try await hitLength(limit)
        case .requestRate, .triggerRate, .queryRate, .terminationRate, .subscriptionRate,
            .clientEventRate, .faultRate:
            try await hitRate(limit)
        case .subscriptions, .members, .watchlist, .cachedEvents, .idempotencyKeys, .relayedEvents:
            try await hitQuantity(limit)
        case .recoverySessions: try await RecoveryLimitTests().ofSessions()
        case .openedStreams: try await RecoveryLimitTests().ofOpenedStreams()
        case .sessionBytes: try await RecoveryLimitTests().ofSessionPositions()
        case .recoveryPositions, .appRetainedBytes, .retainedBytesTotal:
            try await RecoveryLimitTests().ofKeptMessages(limit: limit)
        case .unstoredBytes, .databaseBytes:
            try await ArchiveLimitTests().ofStoredMessages(limit: limit)
        case .archiveReadBytes: try await ArchiveLimitTests().ofReads(areReplays: true)
        case .clusterQueuedBytes: try await ClusterLimitTests().eventsForRedis()
        case .queuedBytes: try await QueueLimitTests().bytesOfOneConnection()
        case .queuedBytesTotal, .appQueuedBytes:
            try await QueueLimitTests().bytesOfAll(limit: limit)
        case .inboundBytes: try await InboundLimitTests().requestBodies()
        case .webhooksInFlight: try await hitWebhooks(limit, inFlight: 1)
        case .webhooksQueued: try await hitWebhooks(limit, queued: 2)
        case .webhookBytesQueued: try await hitWebhooks(limit, inFlight: 1, bytes: 300)
        }
    }

    private func hitAdmission(_ limit: Limit) async throws {
        let tests = AdmissionLimitTests()
        switch limit {
        case .connections: try await tests.connectionsOfTheProcess()
        case .connectionsPerAddress: try await tests.connectionsOfAnAddress(loops: 1)
        case .newConnections: try await tests.newConnectionsOfASecond()
        case .newConnectionsPerAddress: try await tests.newConnectionsOfAnAddress()
        case .handshakes: try await tests.handshakes()
        case .appConnections: try await tests.connectionsOfAnApp()
        default: try await tests.timeUntilAuthorized()
        }
    }

    private func hitTime(_ limit: Limit) async throws {
        let tests = TimeLimitTests()
        switch limit {
        case .tlsHandshakeTime: try await tests.ofATLSHandshake()
        case .requestHeadTime: try await tests.ofARequest(start: "GET /health HT", limit: limit)
        case .requestBodyTime: try await tests.ofARequest(start: "", limit: limit)
        case .requestIdleTime: try await tests.withoutARequest()
        case .answerTime: try await tests.ofAnAnswer()
        case .pongTime: try await tests.toAnswerAPing()
        case .triggerTime: try await tests.ofATriggerToACongestedChannel()
        default:
            let first = Frames.frame(1, [0x20], announced: 5_000)
            try await tests.ofAMessage(name: "", beginning: first, rest: [0x20])
        }
    }

    private func hitLength(_ limit: Limit) async throws {
        let tests = LengthLimitTests()
        switch limit {
        case .requestHeadLength:
            let path = String(repeating: "x", count: 9_000)
            try await tests.requestHead(start: "GET /" + path, status: 414)
        case .requestBodyLength: try await tests.requestBody()
        case .messageLength: try await tests.message()
        case .messageFragments: try await tests.fragmentsOfAMessage()
        case .userInfoLength: try await tests.userInfoOfAMember()
        default: try await tests.textsOfAnApp()
        }
    }

    private func hitRate(_ limit: Limit) async throws {
        let tests = RateLimitTests()
        switch limit {
        case .requestRate: try await tests.requestsOfAnyKind()
        case .subscriptionRate: try await tests.subscriptions()
        case .clientEventRate: try await tests.clientEvents()
        case .faultRate: try await tests.faultyMessages()
        default: try await tests.requestsOfAKind(limit: limit)
        }
    }

    private func hitQuantity(_ limit: Limit) async throws {
        let tests = QuantityLimitTests()
        switch limit {
        case .subscriptions: try await tests.subscriptionsOfAConnection()
        case .members: try await tests.membersOfAChannel(loops: 1)
        case .watchlist: try await tests.watchedUsers()
        case .cachedEvents: try await tests.cachedEvents()
        case .idempotencyKeys: try await tests.idempotencyKeys()
        default: try await tests.relayedEvents()
        }
    }

    private func hitWebhooks(
        _ limit: Limit,
        inFlight: Int = 8,
        queued: Int = 10_000,
        bytes: Int = 64 << 20
    ) async throws {
        try await WebhookLimitTests()
            .ofAnEndpoint(inFlight: inFlight, queued: queued, bytes: bytes, limit: limit)
    }
}
