import Broker
import BrokerConfiguration
import Gateway
import HTTP1
import Observability
import PusherProtocol
import Shard
import Webhooks

/// The limits and the configuration that the console shows.
extension BrokerConsole {
    /// How near each limit is and how often it was met, as JSON.
    ///
    /// - Parameters:
    ///   - registry: The apps.
    ///   - settings: The settings of a shard, whose shares make up the limits without a value.
    /// - Returns: A row for each limit; for a limit whose use is known, one for each app, for others one for each app that
    ///   has met it.
    func limits(_ registry: AppRegistry, _ settings: ServerSettings) async -> Response {
        var usage = ShardUsage()
        for shard in shards { usage.add(await shard.usage) }
        let counts = Dictionary(uniqueKeysWithValues: limitHits.counts.map { ($0.limit, $0.count) })
        let places = LimitUsage(
            usage: usage,
            connectionCount: max(0, settings.admissionControl.clientCount - pageCount),
            webhookCount: webhookCounters().queued,
            archive: archiveReading(),
            registry: registry,
            settings: settings,
            configuration: configuration
        )
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("limits")
        writer.beginArray()
        for row in LimitTable(configuration).rows {
            guard let limit = Limit(rawValue: row.name) else { continue }
            let count = counts[limit] ?? 0
            let appCounts = limitHits.counts(of: limit)
            let uses = places.uses(of: limit)
            for use in uses {
                writer.write(row, count: use.app.map { appCounts[$0] ?? 0 } ?? count, use)
            }
            guard uses.isEmpty else { continue }
            for (app, count) in appCounts.sorted(by: { $0.key.text < $1.key.text }) {
                writer.write(row, count: count, of: app)
            }
            if appCounts.isEmpty { writer.write(row, count: count) }
        }
        writer.endArray()
        writer.endObject()
        return .json(writer.bytes)
    }

    /// The configuration in force, without its secrets, as JSON.
    var configurationListing: Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("settings")
        writer.beginArray()
        for setting in configuration.listed {
            writer.beginObject()
            writer.name("key")
            writer.string(setting.key)
            writer.name("value")
            writer.string(setting.value)
            writer.name("isDefault")
            writer.boolean(setting.isDefault)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return .json(writer.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func write(
        _ row: LimitTable.Row,
        count: Int,
        _ use: LimitUsage.Use? = nil,
        of app: AppID? = nil
    ) {
        beginObject()
        members([
            ("limit", row.name), ("key", row.key), ("value", row.value),
            ("consequence", row.consequence), ("audience", row.audience.rawValue),
            ("app", (use?.app ?? app)?.text),
        ])
        members([("count", count), ("used", use?.used), ("max", use?.max)])
        name("isBytes")
        boolean(row.name.hasSuffix("_bytes") || row.name.contains("_bytes_"))
        endObject()
    }
}
