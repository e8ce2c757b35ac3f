import Broker
package import BrokerConfiguration
import Glibc
package import Logging
import Net

/// The settings of all shards: the configuration, and what is computed from it once; immutable.
package final class ServerSettings: Sendable {
    /// The configuration at the start, of which a shard needs the rest as it is.
    package let configuration: Configuration
    /// Admits clients, over all shards.
    package let admissionControl: AdmissionControl
    /// The number of shards, which share the limits for all.
    package let shardCount: Int
    let liveness: Liveness.Settings
    /// The maximum number of connections of one shard that are in their handshake, or carry HTTP alone.
    package let handshakesMax: Int
    /// The maximum size of all outgoing queues of one shard, in bytes of memory.
    package let heldBytesMax: Int
    /// The maximum size of received data that one shard has not processed yet, in bytes of memory.
    package let inboundBytesMax: Int
    /// The maximum size of what is read from the archive and not yet queued for its client, in bytes.
    package let archiveReadBytesMax: Int
    /// The maximum of unprocessed received data over all shards, in bytes, however much memory there is.
    private static var inboundBytesTotalMax: Int { 128 << 20 }
    /// The same of what is read from the archive.
    private static var archiveReadBytesTotalMax: Int { 8 << 20 }
    /// The number of members of a presence channel up to which each arrival and departure is announced at once.
    package let smallPresenceChannelMax: Int
    /// The maximum size of all messages that the broker keeps for clients that come back, in bytes.
    package let retainedBytesMax: Int
    /// Random bits, for the IDs of streams.
    let streamSeed: UInt64
    /// What the shards know of the cluster; `nil` for a broker alone.
    package let cluster: (any ClusterMembership)?
    /// The number of clients that one shard asks to reconnect per second, when messages are missing.
    let reconnectsPerSecond: Int
    /// The number of channels that a closed connection leaves at a time.
    let leaving: LeaveQueue.Settings
    /// The number of clients with session tokens that are asked to confirm at a time.
    let confirmationPortions: ConfirmationPortions
    /// The maximum time in which a closing stream sends its last bytes and receives the peer's end.
    package let closeTimeout: Duration = .seconds(5)
    /// The same for a refused client, which has only a few bytes to read.
    package let refusalTimeout: Duration = .seconds(1)

    package init(
        _ configuration: Configuration,
        shardCount: Int = 1,
        smallPresenceChannelMax: Int = 100,
        leaving: LeaveQueue.Settings = LeaveQueue.Settings(),
        confirmationPortions: ConfirmationPortions = ConfirmationPortions(),
        streamSeed: UInt64 = .random(in: .min ... .max),
        cluster: (any ClusterMembership)? = nil,
        log: Logger? = nil
    ) {
        self.configuration = configuration
        self.cluster = cluster
        self.shardCount = shardCount
        reconnectsPerSecond = max(1, configuration.shutdown.pace / shardCount)
        // Each shard gets an equal share and need not know the counts of the others. The kernel spreads connections
        // evenly.
        handshakesMax = max(1, configuration.admission.handshakesMax / shardCount)
        let queuedBytesMax = configuration.queuedBytesTotalMax ?? Memory.available / 4
        // One budget for all directions, so that their sum stays within the configured one.
        let inboundBytesMax = min(queuedBytesMax / 4, Self.inboundBytesTotalMax)
        self.inboundBytesMax = inboundBytesMax / shardCount
        archiveReadBytesMax = min(queuedBytesMax / 8, Self.archiveReadBytesTotalMax)
        let readBytesMax = configuration.recovery.database == nil ? 0 : archiveReadBytesMax
        heldBytesMax = (queuedBytesMax - inboundBytesMax - readBytesMax) / shardCount
        retainedBytesMax = configuration.retainedBytesTotalMax ?? Memory.available / 8
        self.smallPresenceChannelMax = smallPresenceChannelMax
        self.leaving = leaving
        self.confirmationPortions = confirmationPortions
        self.streamSeed = streamSeed
        admissionControl = AdmissionControl(configuration, log: log)
        liveness = Liveness.Settings(
            activityTimeout: configuration.activityTimeout,
            pongTimeout: configuration.pongTimeout
        )
    }
}

/// The memory that the process may use.
enum Memory {
    /// The machine's memory in bytes, or the lowest limit of the process's control groups (cgroups(7)).
    static var available: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let machine = pages > 0 ? pages * sysconf(Int32(_SC_PAGESIZE)) : 1 << 30
        return groupLimits.reduce(machine, min)
    }

    private static var groupLimits: [Int] {
        var files = ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        // The line of version 2 is 0::/the/path; each group also limits those within it.
        if let line = lines(of: "/proc/self/cgroup").first(where: { $0.hasPrefix("0::/") }) {
            var path = line.dropFirst(3)
            while true {
                files.append("/sys/fs/cgroup\(path)/memory.max")
                guard let slash = path.lastIndex(of: "/") else { break }
                path = path[..<slash]
            }
        }
        return files.compactMap { lines(of: $0).first.flatMap { Int($0) } }
    }

    private static func lines(of path: String) -> [Substring] {
        guard let bytes = try? FileBytes.read(path) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
