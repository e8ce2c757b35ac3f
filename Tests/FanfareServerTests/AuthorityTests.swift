import Broker
import BrokerConfiguration
import TestRedis
import Testing

@testable import FanfareServer

/// Whoever decides about channels, clients and backends see the same: memory, the archive and Redis.
///
/// Most tests of this module start a broker that decides in memory. Those of what an authority decides run here again, with
/// a file and with Redis. Not among them is in what they differ: a count of all nodes is up to a second old, who leaves
/// before Redis has answered was never subscribed, a receipt of Redis comes by itself, and a file keeps more than memory.
@Suite("Every authority decides alike", .timeLimit(.minutes(2))) struct AuthorityTests {
    /// A test of another suite.
    struct Promise: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let hold: @Sendable () async throws -> Void

        init(_ description: String, _ hold: @escaping @Sendable () async throws -> Void) {
            (testDescription, self.hold) = (description, hold)
        }
    }

    private static let promises: [Promise] = [
        Promise("order") { try await TriggerTests().keepsOrder(loops: 3) },
        Promise("order of the answer") {
            try await PublishOrderTests().afterTheAnswer(loops: 2, kept: 0)
        },
        Promise("order of batches") { try await PublishOrderTests().batchesAndClientEvents() },
        Promise("order of clients") { try await ClientEventTests().keepsTheOrder(loops: 3) },
        Promise("one trigger") { try await TriggerTests().reachesEverySubscriber(loops: 2) },
        Promise("socket_id") { try await TriggerTests().excludes(loops: 3) },
        Promise("channels") { try await TriggerTests().severalChannels(loops: 2) },
        Promise("keys") { try await IdempotencyTests().triggers(loops: 3) },
        Promise("receipts") { try await ReceiptTests().receipts(loops: 3) },
        Promise("subscribe") { try await SubscriptionTests().acknowledges(loops: 2) },
        Promise("unsubscribe") { try await SubscriptionTests().unsubscribes(loops: 2) },
        Promise("counts") { try await SubscriptionCountTests().tells(loops: 3) },
        Promise("arrivals") { try await PresenceTests().announcesArrivals(loops: 3) },
        Promise("users") { try await PresenceTests().countsUsersOnce(loops: 3) },
        Promise("departures") { try await PresenceTests().announcesDepartures(way: 0) },
        Promise("info of members") { try await PresenceTests().theInfoOfTheFirstConnectionStays() },
        Promise("members_max") { try await PresenceTests().limitsMembers(loops: 2) },
        Promise("cache miss") { try await CacheChannelTests().misses(loops: 3) },
        Promise("cache") { try await CacheChannelTests().delivers(loops: 3) },
        Promise("cache of nobody") {
            try await CacheChannelTests().outlivesItsSubscribers(loops: 3)
        },
        Promise("cache of some") { try await CacheChannelTests().keepsWhatExcludesOne(loops: 3) },
        Promise("cached order") { try await CacheChannelTests().order(loops: 3) },
        Promise("positions") { try await TriggerPositionTests().positions(loops: 3) },
        Promise("positions of batches") { try await TriggerPositionTests().batches(loops: 3) },
        Promise("repeats") { try await TriggerPositionTests().repeats(loops: 3) },
        Promise("if_position") { try await ConditionalTriggerTests().conditions(loops: 3) },
        Promise("if_position of many") { try await ConditionalTriggerTests().races(loops: 3) },
        Promise("ephemeral") { try await EphemeralTests().ephemeral(loops: 3) },
        Promise("recovery") { try await RecoveryTests().resumes(loops: 3) },
        Promise("recovery of the rest") { try await RecoveryTests().exclusions(loops: 3) },
        Promise("recovery of presence") { try await RecoveryTests().presence() },
        Promise("recovery under load") { try await RecoveryTests().races(loops: 3) },
        Promise("opening") { try await OpeningTests().stockClients(loops: 3) },
        Promise("purge") { try await PurgeTests().purges(loops: 3) },
        Promise("purge with subscribers") { try await PurgeTests().subscribers(loops: 3) },
        Promise("purge under load") { try await PurgeTests().races(loops: 3) },
        Promise("history") { try await HistoryTests().pages(loops: 3) },
        Promise("list") { try await ChannelListTests().pages(loops: 3) },
    ]

    @Test(
        "What one decides in memory",
        arguments: [BrokerVariant.Place.file, .cluster],
        promises
    )
    func holds(place: BrokerVariant.Place, promise: Promise) async throws {
        try await BrokerVariant.run(in: place) { try await promise.hold() }
    }

    private static let channels = [
        "a", "presence-p", "cache-c", "cache-e", "t", "q", "z", "bad name",
    ]

    /// All queries, of all kinds of channels.
    private static var requests: [SignedRequest] {
        func get(_ path: String, _ parameters: (String, String)...) -> SignedRequest {
            SignedRequest(method: "GET", path: "/apps/1/channels" + path, parameters: parameters)
        }
        var requests = [
            get(""), get("", ("filter_by_prefix", "presence-"), ("info", "user_count")),
            get("", ("info", "subscription_count")), get("", ("info", "cache")),
            get("", ("limit", "0")), get("", ("limit", "2")), get("", ("info", "nonsense")),
        ]
        for channel in channels.map({ "/" + $0.replacing(" ", with: "%20") }) {
            requests.append(get(channel))
            for info in [
                "user_count", "subscription_count", "cache", "position",
                "subscription_count,cache,position", "nonsense",
            ] {
                requests.append(get(channel, ("info", info)))
            }
            requests.append(get(channel + "/users"))
            requests.append(get(channel + "/history"))
            requests.append(get(channel + "/history", ("limit", "1"), ("order", "newest")))
            requests.append(get(channel + "/history", ("after", "1")))
            requests.append(get(channel + "/history", ("stream", "other")))
            requests.append(get(channel + "/history", ("limit", "0")))
            requests.append(get(channel + "/messages/1/delivery"))
            requests.append(get(channel + "/messages/99/delivery"))
            requests.append(
                SignedRequest(method: "DELETE", path: "/apps/1/channels\(channel)/history")
            )
        }
        return requests
    }

    /// The answers to all requests, without what differs from run to run.
    private func answers(of broker: TestBroker, at asked: TestBroker) async throws -> [String] {
        var clients: [WebSocketWire] = []
        for channel in ["a", "cache-e"] {
            clients.append(try await broker.subscribed(to: channel).0)
        }
        clients.append(try await broker.joined("presence-p", as: "ann").0)
        if broker.server.configuration.apps[0].recovery.isEnabled {
            clients.append(try await TrackingWire(broker, "t").client)
        } else {
            clients.append(try await broker.subscribed(to: "t").0)
        }
        for (channel, data) in [("cache-c", "1"), ("t", "2"), ("t", "3"), ("q", "4")] {
            #expect(try await broker.trigger("e", data, on: channel).status == 200)
        }
        var texts: [String] = []
        for request in Self.requests {
            let answer = try await Wire(port: asked.port).ask(request)
            texts.append(
                "\(request.method) \(request.path) \(request.parameters): "
                    + "\(answer.status) \(answer.comparableBody)"
            )
        }
        withExtendedLifetime(clients) {}
        return texts
    }

    @Test("Every query", arguments: [true, false])
    func queries(recovers: Bool) async throws {
        func change(_ configuration: inout Configuration) {
            configuration.apps[0].recovery.isEnabled = recovers
            configuration.apps[0].features.subscriptionCount = true
        }
        let alone = try await TestBroker.run(change) { try await answers(of: $0, at: $0) }
        try await BrokerVariant.run(in: .file) {
            let stored = try await TestBroker.run(change) { try await answers(of: $0, at: $0) }
            for (expected, answer) in zip(alone, stored) { #expect(answer == expected) }
        }
        try await TestCluster.run(nodes: 1, change) { cluster in
            let node = cluster.nodes[0]
            let shared = try await answers(of: node, at: node)
            for (expected, answer) in zip(alone, shared) { #expect(answer == expected) }
        }
        // Whichever node is asked; where a message was delivered, only the node of its subscribers knows.
        try await TestCluster.run(nodes: 2, change) { cluster in
            let shared = try await answers(of: cluster.nodes[0], at: cluster.nodes[1])
            for (expected, answer) in zip(alone, shared) where !expected.contains("/delivery") {
                #expect(answer == expected)
            }
        }
    }
}

extension Answer {
    /// The body without the stream IDs and times in which brokers differ.
    var comparableBody: String {
        body
            .replacing(/"stream":"[^"]+"/, with: #""stream":"S""#)
            .replacing(/"(time|published|from|until|ttl)":"?[\d.]+"?/) { "\"\($0.output.1)\":T" }
            .replacing(/stream is [^,]+,/, with: "stream is S,")
    }
}
