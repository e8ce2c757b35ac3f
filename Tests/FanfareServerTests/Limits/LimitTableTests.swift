import Broker
import Foundation
import PusherProtocol
import Testing

@testable import BrokerConfiguration
@testable import FanfareServer
@testable import Observability

@Suite("The table of limits") struct LimitTableTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The test that hits a limit: its file beside this one, and its function.
    private func test(of limit: Limit) -> (file: String, function: String) {
        switch limit {
        case .connections: ("Admission", "connectionsOfTheProcess")
        case .connectionsPerAddress: ("Admission", "connectionsOfAnAddress")
        case .newConnections: ("Admission", "newConnectionsOfASecond")
        case .newConnectionsPerAddress: ("Admission", "newConnectionsOfAnAddress")
        case .handshakes: ("Admission", "handshakes")
        case .appConnections: ("Admission", "connectionsOfAnApp")
        case .authorizationTime: ("Admission", "timeUntilAuthorized")
        case .tlsHandshakeTime: ("Time", "ofATLSHandshake")
        case .requestHeadTime, .requestBodyTime: ("Time", "ofARequest")
        case .requestIdleTime: ("Time", "withoutARequest")
        case .answerTime: ("Time", "ofAnAnswer")
        case .pongTime: ("Time", "toAnswerAPing")
        case .triggerTime: ("Time", "ofATriggerToACongestedChannel")
        case .messageTime: ("Time", "ofAMessage")
        case .requestHeadLength: ("Length", "requestHead")
        case .requestBodyLength: ("Length", "requestBody")
        case .messageLength: ("Length", "message")
        case .messageFragments: ("Length", "fragmentsOfAMessage")
        case .channelNameLength, .eventDataLength, .triggerChannels, .batchEvents:
            ("Length", "textsOfAnApp")
        case .userInfoLength: ("Length", "userInfoOfAMember")
        case .requestRate: ("Rate", "requestsOfAnyKind")
        case .triggerRate, .queryRate, .terminationRate: ("Rate", "requestsOfAKind")
        case .subscriptionRate: ("Rate", "subscriptions")
        case .clientEventRate: ("Rate", "clientEvents")
        case .faultRate: ("Rate", "faultyMessages")
        case .subscriptions: ("Quantity", "subscriptionsOfAConnection")
        case .members: ("Quantity", "membersOfAChannel")
        case .watchlist: ("Quantity", "watchedUsers")
        case .cachedEvents: ("Quantity", "cachedEvents")
        case .idempotencyKeys: ("Quantity", "idempotencyKeys")
        case .recoverySessions: ("Recovery", "ofSessions")
        case .openedStreams: ("Recovery", "ofOpenedStreams")
        case .sessionBytes: ("Recovery", "ofSessionPositions")
        case .recoveryPositions, .appRetainedBytes, .retainedBytesTotal:
            ("Recovery", "ofKeptMessages")
        case .unstoredBytes, .databaseBytes: ("Archive", "ofStoredMessages")
        case .archiveReadBytes: ("Archive", "ofReads")
        case .clusterQueuedBytes: ("Cluster", "eventsForRedis")
        case .relayedEvents: ("Quantity", "relayedEvents")
        case .queuedBytes: ("Queue", "bytesOfOneConnection")
        case .queuedBytesTotal, .appQueuedBytes: ("Queue", "bytesOfAll")
        case .inboundBytes: ("Inbound", "requestBodies")
        case .webhooksInFlight, .webhooksQueued, .webhookBytesQueued: ("Webhook", "ofAnEndpoint")
        }
    }

    @Test func everyLimitHasATestThatHitsIt() throws {
        let folder = Self.root.appending(path: "Tests/FanfareServerTests/Limits")
        for limit in Limit.allCases {
            let (file, function) = test(of: limit)
            let path = folder.appending(path: "\(file)LimitTests.swift")
            let source = try String(contentsOf: path, encoding: .utf8)
            #expect(source.contains("func \(function)("), "\(limit)")
            let isNamed =
                source.contains("hits(.\(limit))") || source.contains("[Limit.\(limit)")
                || source.contains("Limit.\(limit)") || source.contains(", .\(limit)")
            #expect(isNamed, "\(limit)")
        }
    }

    @Test func everyLimitHasAKeyWithADefault() {
        let keys = Set(ConfigurationKeys.schema.patterns)
        for row in LimitTable(.development).rows {
            #expect(keys.contains(row.key), "\(row.name)")
            #expect(!row.value.isEmpty, "\(row.name)")
        }
        // Two limits are shares of the memory that `queued_bytes_total` has; every other limit has its own key.
        let own = Limit.allCases.filter { $0 != .inboundBytes && $0 != .archiveReadBytes }
        #expect(Set(own.map(\.rule.key)).count == own.count)
    }

    @Test func whereAppsDifferEachValueIsShown() {
        var configuration = Configuration.development
        configuration.apps[0].limits.membersMax = 7
        configuration.apps.append(AppConfiguration(id: "2", key: "k", secret: "s"))
        let row = LimitTable(configuration).rows.first { $0.name == "members" }
        #expect(row?.value == "7, 100")
    }

    @Test("docs/limits.md is the table of the defaults")
    func document() throws {
        let path = Self.root.appending(path: "docs/limits.md")
        let text = try String(contentsOf: path, encoding: .utf8)
        let table = LimitTable(.development).markdown
        #expect(text.hasSuffix(table), "its table must be this:\n\(table)")
    }
}
