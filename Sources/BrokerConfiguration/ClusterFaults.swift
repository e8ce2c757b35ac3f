internal import Broker
import Redis

extension Configuration {
    /// The contradictions of the cluster's keys with each other and with the rest.
    func clusterFaults(besides known: Set<String>) -> [ConfigurationFault] {
        guard cluster.engine == .redis else { return [] }
        var faults: [ConfigurationFault] = []
        func add(_ key: String, _ problem: String) {
            faults.append(ConfigurationFault(key: key, problem: problem))
        }
        let urls = cluster.redis.urls
        if urls.isEmpty {
            add("cluster.redis.urls", "is empty, but cluster.engine is redis: name the server")
        }
        let locations = urls.map { (try? RedisURL($0))?.location }
        for (number, location) in locations.enumerated() {
            if let location, locations[..<number].contains(location) {
                add(
                    "cluster.redis.urls.\(number)",
                    "is there twice: each server has a share of the channels"
                )
            }
            if !cluster.redis.sentinels.isEmpty, case .unix = location {
                add(
                    "cluster.redis.urls.\(number)",
                    "is a path, but there are cluster.redis.sentinels: name the primary as they do, redis://NAME"
                )
            }
            if cluster.redis.mode == .cluster, case .unix = location {
                add(
                    "cluster.redis.urls.\(number)",
                    "is a path, but cluster.redis.mode is cluster: name the server as the others reach it, redis://HOST:PORT"
                )
            }
        }
        switch (cluster.redis.mode, cluster.redis.sentinels.isEmpty) {
        case (.sentinel, true):
            add("cluster.redis.mode", "is sentinel: name all of them in cluster.redis.sentinels")
        case (.single, false), (.cluster, false):
            add(
                "cluster.redis.mode",
                "is \(cluster.redis.mode), but there are cluster.redis.sentinels: leave one of the two out"
            )
        default: break
        }
        if urls.count > cluster.partitions, cluster.redis.mode != .cluster {
            add(
                "cluster.redis.urls",
                "names \(urls.count) servers for \(cluster.partitions) parts: raise cluster.partitions"
            )
        }
        if cluster.redis.replicas != 1, cluster.redis.acknowledge == .primary {
            add(
                "cluster.redis.replicas",
                "is of no use unless cluster.redis.acknowledge is replica"
            )
        }
        let isSecure = (urls + cluster.redis.sentinels).contains {
            (try? RedisURL($0))?.isSecure == true
        }
        if cluster.redis.trust != nil, !isSecure, !known.contains("cluster.redis.urls.0") {
            add("cluster.redis.trust", "is of no use without an address that begins with rediss://")
        }
        if cluster.redis.username != nil, cluster.redis.password == nil {
            add("cluster.redis.username", "needs a password: set cluster.redis.password")
        }
        for (key, path) in [
            ("recovery.database", recovery.database), ("recovery.spool", recovery.spool),
        ] where path != nil {
            add(
                key,
                "is of no use with cluster.engine: redis, which keeps all streams; leave it out"
            )
        }
        for (number, app) in apps.enumerated() {
            for (index, rule) in app.recoveryRules.enumerated()
            where rule.settings.store == .archive {
                add(
                    "apps.\(number).recovery.rules.\(index).store",
                    "is sqlite, but cluster.engine is redis, which keeps all streams; leave it out"
                )
            }
        }
        return faults
    }
}
