import Broker
import BrokerConfiguration
import Logging
import PusherProtocol
import Synchronization
import TestRedis
import Testing

@testable import FanfareServer
@testable import Gateway
@testable import Observability
@testable import Shard

/// Where the brokers of a test keep their data, beyond its own configuration.
struct BrokerVariant: Sendable {
    enum Place: String, CaseIterable, Sendable {
        case memory, file, cluster
    }

    /// That of the tests that are running; `nil` outside of ``StoreLimitTests`` and ``AuthorityTests``.
    @TaskLocal static var current: BrokerVariant?

    /// The limit that the test hits, if any.
    let limit: Limit?
    /// The path of the file of messages; `nil` for none.
    let database: String?
    /// The address of Redis; `nil` for none.
    let redis: String?

    /// Runs a test whose brokers keep their data in a place.
    static func run(
        in place: Place,
        hitting limit: Limit? = nil,
        _ test: () async throws -> Void
    ) async throws {
        let folder = place == .file ? try TemporaryFolder() : nil
        let redis = place == .cluster ? try RedisProcess() : nil
        let variant = BrokerVariant(
            limit: limit,
            database: folder?.path("history.sqlite"),
            redis: redis.map { "redis+unix://\($0.socket)" }
        )
        try await $current.withValue(variant) { try await test() }
        withExtendedLifetime((folder, redis)) {}
    }

    func prepare(_ configuration: inout Configuration) {
        if let database {
            configuration.recovery.database = database
            var rule = RecoveryRuleConfiguration()
            rule.settings.store = .archive
            configuration.apps[0].recoveryRules = [rule]
        }
        if let redis {
            configuration.cluster.engine = .redis
            configuration.cluster.node = "node"
            // These limits are divided among the partitions.
            let isDivided = [.cachedEvents, .recoverySessions, .sessionBytes]
                .contains { $0 == limit }
            configuration.cluster.partitions = isDivided ? 1 : 8
            configuration.cluster.redis.urls = [redis]
        }
    }

    /// Expects that the limit was met, and that what it counts is within it.
    func check(_ broker: TestBroker) async {
        guard let limit else { return }
        #expect(await broker.hits(limit) > 0, "\(limit)")
        // Those in flight are counted, and are not among those that the limit counts.
        guard limit != .webhooksQueued else { return }
        for use in await broker.uses(of: limit) {
            #expect(use.max.map { use.used <= $0 } ?? true, "\(limit): \(use)")
        }
    }
}

extension TestBroker {
    /// What is used of a limit; empty for one that counts nothing that stays.
    func uses(of limit: Limit) async -> [LimitUsage.Use] {
        var usage = ShardUsage()
        for shard in server.shards { usage.add(await shard.usage) }
        return LimitUsage(
            usage: usage,
            connectionCount: await server.connectionCount,
            webhookCount: await metric("fanfare_webhooks_queued") ?? 0,
            archive: nil,
            registry: server.registry.withLock { $0 },
            settings: ServerSettings(server.configuration, shardCount: server.shards.count),
            configuration: server.configuration
        ).uses(of: limit)
    }
}
