import Archive
import Broker
import Shard
import Webhooks

/// What the metrics are read from when Prometheus asks.
struct BrokerReading {
    /// The sum of all shards.
    let shards: ShardReading
    let webhooks: WebhookCounters
    /// `nil` without an archive.
    let archive: Archive.Reading?
    let isArchiveMisplaced: Bool?
    /// The connections that count towards `connections_max` of each app.
    let appConnections: [(String, Int)]

    init(
        shards: ShardReading,
        webhooks: WebhookCounters,
        archive: Archive.Reading?,
        isArchiveMisplaced: Bool?,
        apps: AppRegistry
    ) {
        var shards = shards
        // What a removed app has left stays until its connections have ended.
        shards.windows = shards.windows.filter { apps.apps[$0.key] != nil }
        self.shards = shards
        self.webhooks = webhooks
        self.archive = archive
        self.isArchiveMisplaced = isArchiveMisplaced
        appConnections = apps.quotas.filter { apps.apps[$0.key] != nil }
            .map { ($0.text, $1.takenCount) }
    }

    /// The part in a cluster; `nil` for a broker alone.
    var cluster: ClusterReading? { shards.cluster }
}
