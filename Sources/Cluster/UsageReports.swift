import Broker
import RESP
import Redis
import Shard

/// What the nodes use of the limits of an app on all nodes together, as they report it to each other.
///
/// Each node reports its use every two seconds, and takes its share of the rest. So `connections_max` can be exceeded by
/// the connections that arrive within two seconds. Done by the first shard of a node.
final class UsageReports {
    private let partitions: Partitions
    /// What this node uses of the apps' limits, as last reported.
    private var usage: [AppID: AppUsage] = [:]
    /// Its requests of the last seconds.
    private var demands: [AppID: [DemandWindow]] = [:]

    init(_ partitions: Partitions) { self.partitions = partitions }

    private var context: ShardContext { partitions.context }
    private var settings: ClusterSettings { partitions.settings }

    /// The time after which a node's report is removed, in heartbeat leases.
    private static var leasesKept: Int64 { 10 }

    /// Reports this node's use to the others, and reads theirs; called with each heartbeat of the first shard.
    func report() {
        let registry = context.registry
        guard context.shard == 0, partitions[0].lastTime > 0, registry.hasSharedLimits else {
            return
        }
        var own: [AppID: AppUsage] = [:]
        for app in registry.ids { own[app] = usage(of: app, in: registry) }
        usage = own
        demands = demands.filter { own[$0.key] != nil }
        let told = NodeUsage(time: partitions[0].lastTime, apps: own.filter { !$0.value.isEmpty })
        let (key, node) = ("\(partitions[0].calls.keys.usage)", settings.node)
        let isSent = partitions.send(["HSET", key, node, told.text], to: 0, as: UnawaitedCall())
        guard isSent else { return }
        let call = AwaitedCall { [self] reply in receive(reply) }
        partitions.send(["HGETALL", key], to: 0, as: call)
    }

    private func usage(of app: AppID, in registry: AppRegistry) -> AppUsage {
        let counts = registry.apps[app]?.requests.askedCounts ?? []
        var windows = demands[app] ?? counts.map { _ in DemandWindow() }
        let now = context.milliseconds
        let demands = counts.indices.map { windows[$0].read(counts[$0], at: now) }
        self.demands[app] = windows
        return AppUsage(connections: registry.quotas[app]?.takenCount ?? 0, demands: demands)
    }

    /// Divides the limits among the nodes.
    private func receive(_ reply: borrowing RESPView) {
        guard RedisError(reply) == nil else { return }
        let now = partitions[0].lastTime
        var others: [AppID: AppUsage] = [:]
        var (nodeCount, node): (Int, String?) = (1, nil)
        var forgotten: [String] = []
        reply.forEach { element in
            guard let name = exchange(&node, with: nil) else {
                node = element.text
                return
            }
            guard name != settings.node else { return }
            let told = NodeUsage(element.text)
            let age = now - (told?.time ?? 0)
            if age > Int64(settings.lease) * Self.leasesKept { forgotten.append(name) }
            guard let told, age <= Int64(settings.lease) else { return }
            nodeCount += 1
            for (app, usage) in told.apps {
                if others[app]?.add(usage) == nil { others[app] = usage }
            }
        }
        for app in context.registry.ids { share(app, others[app], among: nodeCount) }
        forget(forgotten)
    }

    private func share(_ id: AppID, _ others: AppUsage?, among nodeCount: Int) {
        let registry = context.registry
        if let limit = registry.connectionsMax(of: id) {
            registry.quotas[id]?.resize(to: max(0, limit - (others?.connections ?? 0)))
        }
        guard let requests = registry.apps[id]?.requests, let own = usage[id] else { return }
        requests.divide { index, rate in
            DemandShare.share(
                of: rate,
                demand: own.demands[index],
                total: own.demands[index] + (others?.demands[index] ?? 0),
                nodeCount: nodeCount
            )
        }
    }

    /// Removes the reports of nodes that have ended, or of this one when it stops.
    func forget(_ nodes: [String]) {
        guard context.shard == 0, context.registry.hasSharedLimits, !nodes.isEmpty else { return }
        let key = "\(partitions[0].calls.keys.usage)"
        partitions.send(["HDEL", key] + nodes, to: 0, as: UnawaitedCall())
    }
}
