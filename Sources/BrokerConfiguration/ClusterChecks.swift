internal import Broker
import Redis

extension ClusterConfiguration {
    /// Adds the contradictions of the cluster's keys with each other and with the rest.
    func check(in configuration: Configuration, _ faults: inout FaultCollector) {
        guard engine == .redis else { return }
        let urls = redis.urls
        if urls.isEmpty {
            faults.add(
                "cluster.redis.urls",
                "is empty, but cluster.engine is redis: name the server"
            )
        }
        let locations = urls.map { (try? RedisURL($0))?.location }
        for (number, location) in locations.enumerated() {
            let key = "cluster.redis.urls.\(number)"
            if let location, locations[..<number].contains(location) {
                faults.add(key, "is there twice: each server has a share of the channels")
            }
            if !redis.sentinels.isEmpty, case .unix = location {
                faults.add(
                    key,
                    "is a path, but there are cluster.redis.sentinels: name the primary as they do, redis://NAME"
                )
            }
            if redis.mode == .cluster, case .unix = location {
                faults.add(
                    key,
                    "is a path, but cluster.redis.mode is cluster: name the server as the others reach it, redis://HOST:PORT"
                )
            }
        }
        switch (redis.mode, redis.sentinels.isEmpty) {
        case (.sentinel, true):
            faults.add(
                "cluster.redis.mode",
                "is sentinel: name all of them in cluster.redis.sentinels"
            )
        case (.single, false), (.cluster, false):
            faults.add(
                "cluster.redis.mode",
                "is \(redis.mode), but there are cluster.redis.sentinels: leave one of the two out"
            )
        default: break
        }
        if urls.count > partitions, redis.mode != .cluster {
            faults.add(
                "cluster.redis.urls",
                "names \(urls.count) servers for \(partitions) parts: raise cluster.partitions"
            )
        }
        if redis.replicas != 1, redis.acknowledge == .primary {
            faults.add(
                "cluster.redis.replicas",
                "is of no use unless cluster.redis.acknowledge is replica"
            )
        }
        let isSecure = (urls + redis.sentinels).contains { (try? RedisURL($0))?.isSecure == true }
        if redis.trust != nil, !isSecure, faults.isInBounds("cluster.redis.urls.0") {
            faults.add(
                "cluster.redis.trust",
                "is of no use without an address that begins with rediss://"
            )
        }
        if redis.username != nil, redis.password == nil {
            faults.add("cluster.redis.username", "needs a password: set cluster.redis.password")
        }
        for (key, path) in [
            ("recovery.database", configuration.recovery.database),
            ("recovery.spool", configuration.recovery.spool),
        ] where path != nil {
            faults.add(
                key,
                "is of no use with cluster.engine: redis, which keeps all streams; leave it out"
            )
        }
        faults.check(configuration.apps, of: "apps") { _, app, faults in
            faults.check(app.recoveryRules, of: "recovery.rules") { _, rule, faults in
                guard rule.settings.store == .archive else { return }
                faults.add(
                    "store",
                    "is sqlite, but cluster.engine is redis, which keeps all streams; leave it out"
                )
            }
        }
    }
}
