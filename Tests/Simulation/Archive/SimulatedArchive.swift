import Archive
import Broker

/// An archive without a thread, which writes only on request.
final class SimulatedArchive: MessageArchive {
    // SAFETY: a simulation has one thread.
    private nonisolated(unsafe) let writer: ArchiveWriter
    private nonisolated(unsafe) var requests: [ArchiveRequest] = []
    private nonisolated(unsafe) var byteCount = 0
    private let variant: ArchiveVariant?
    /// Sends a reply to a shard.
    nonisolated(unsafe) var send: (Int, ArchiveReply) -> Void = { _, _ in }

    init(_ disk: SimulatedDisk, shardCount: Int, _ variant: ArchiveVariant?) throws {
        var settings = ArchiveWriter.Settings()
        settings.retryPeriod = 2_000
        writer = try ArchiveWriter(disk, shardCount: shardCount, settings: settings)
        self.variant = variant
    }

    var isFailing: Bool { writer.isRefusing }

    /// Whether the last attempt to write has failed.
    var hasFailed: Bool { writer.error != nil }

    var unstoredByteCount: Int { byteCount }

    func addUnstored(_ byteCount: Int) {
        if variant == .leakedBudget, byteCount < 0 { return }
        self.byteCount += byteCount
    }

    func post(_ request: ArchiveRequest) {
        requests.append(request)
        guard variant == .releasedEarly, case .commit(let group) = request else { return }
        send(group.shard, .committed(group: group.number))
    }

    /// The number of requests that wait.
    var waitingCount: Int { requests.count }

    /// Writes what has gathered.
    ///
    /// - Parameter now: The time, in milliseconds.
    func write(at now: Int) {
        for (shard, reply) in writer.perform(exchange(&requests, with: []), at: Int64(now)) {
            send(shard, reply)
        }
    }
}
