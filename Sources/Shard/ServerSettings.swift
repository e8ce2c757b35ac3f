package import Broker
import Glibc
package import Logging
package import Net

/// The settings of all shards, computed once from the configuration; immutable.
package final class ServerSettings: Sendable {
    /// Admits clients, over all shards.
    package let admissionControl: AdmissionControl
    /// Notes connections that end after silence, over all shards; `nil` without a log.
    let silentEnds: SilentEnds?
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

    /// The limits of a connection's bytes; a slower reader is closed with 4100.
    package let streamLimits: StreamLimits
    /// The number of messages queued between two loops from which triggers are refused.
    package let relayedEventsMax: Int
    /// The time that a trigger waits for a congested channel before it is refused.
    package let triggerTimeout: Duration
    /// The maximum time between the first and the last byte of a client's message.
    let messageTimeout: Duration
    /// Which connections are recorded.
    let connectionRecords: ConnectionRecords.Settings
    /// The maximum size of the events that wait for the archive, in bytes.
    package let unstoredBytesMax: Int
    /// Whether events of stored channels go on in memory while the archive fails.
    let continuesInMemory: Bool

    /// Computes the share of one shard from the limits of the process.
    ///
    /// What a test chooses has defaults; the rest comes from the configuration, which has them. Of the memory that the
    /// process may use, `queuedBytesTotalMax` is by default a quarter, and `retainedBytesTotalMax` an eighth.
    package init(
        admissionControl: AdmissionControl,
        handshakesTotalMax: Int,
        reconnectsTotalPerSecond: Int,
        activityTimeout: Int,
        pongTimeout: Int,
        streamLimits: StreamLimits,
        queuedBytesTotalMax: Int?,
        retainedBytesTotalMax: Int?,
        relayedEventsMax: Int,
        triggerTimeout: Duration,
        messageTimeout: Duration,
        connectionRecords: ConnectionRecords.Settings,
        hasArchive: Bool,
        unstoredBytesMax: Int,
        continuesInMemory: Bool,
        shardCount: Int,
        smallPresenceChannelMax: Int = 100,
        leaving: LeaveQueue.Settings = LeaveQueue.Settings(),
        confirmationPortions: ConfirmationPortions = ConfirmationPortions(),
        streamSeed: UInt64 = .random(in: .min ... .max),
        cluster: (any ClusterMembership)? = nil,
        log: Logger? = nil
    ) {
        self.admissionControl = admissionControl
        silentEnds = log.map { SilentEnds($0) }
        self.streamLimits = streamLimits
        self.relayedEventsMax = relayedEventsMax
        self.triggerTimeout = triggerTimeout
        self.messageTimeout = messageTimeout
        self.connectionRecords = connectionRecords
        self.unstoredBytesMax = unstoredBytesMax
        self.continuesInMemory = continuesInMemory
        self.cluster = cluster
        self.shardCount = shardCount
        reconnectsPerSecond = max(1, reconnectsTotalPerSecond / shardCount)
        // Each shard gets an equal share and need not know the counts of the others. The kernel spreads connections
        // evenly.
        handshakesMax = max(1, handshakesTotalMax / shardCount)
        let queuedBytesMax = queuedBytesTotalMax ?? Memory.available / 4
        // One budget for all directions, so that their sum stays within the configured one.
        let inboundBytesMax = min(queuedBytesMax / 4, Self.inboundBytesTotalMax)
        self.inboundBytesMax = inboundBytesMax / shardCount
        archiveReadBytesMax = min(queuedBytesMax / 8, Self.archiveReadBytesTotalMax)
        let readBytesMax = hasArchive ? archiveReadBytesMax : 0
        heldBytesMax = (queuedBytesMax - inboundBytesMax - readBytesMax) / shardCount
        retainedBytesMax = retainedBytesTotalMax ?? Memory.available / 8
        self.smallPresenceChannelMax = smallPresenceChannelMax
        self.leaving = leaving
        self.confirmationPortions = confirmationPortions
        self.streamSeed = streamSeed
        liveness = Liveness.Settings(activityTimeout: activityTimeout, pongTimeout: pongTimeout)
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
