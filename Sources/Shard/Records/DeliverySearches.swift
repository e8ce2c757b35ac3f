import Broker
import Net
import PusherProtocol

/// Finds the outcome of a message in the records of all shards.
///
/// A search over all records of a shard takes several turns, so that events wait for no more than one portion.
package final class DeliverySearches {
    /// The maximum number of records that a turn examines.
    private static var portionMax: Int { 2_048 }
    /// The maximum number of connections over which a client is followed.
    private static var followedMax: Int { 16 }

    /// A search in this shard's records that is not finished.
    private struct Running {
        let search: DeliverySearch
        let id: QueryID
        let asker: Int
        /// The connections to examine; each record is read when it is its turn.
        let socketIDs: [SocketID]
        var position = 0
        var findings = DeliveryFindings()
    }

    /// A search that is not answered by all shards yet.
    private struct Pending {
        var missingCount: Int
        var findings = DeliveryFindings()
        let finish: (DeliveryFindings) -> Void
    }

    private let context: ShardContext
    private let records: DeliveryRecords
    private var running: [Running] = []
    private var pending: [QueryID: Pending] = [:]
    private var last: QueryID = 0

    init(_ context: ShardContext, _ records: DeliveryRecords) {
        self.context = context
        self.records = records
    }

    /// The number of unanswered requests, and of unfinished searches.
    var count: Int { pending.count + running.count }

    /// Whether there is work for the next turn.
    var areReady: Bool { !running.isEmpty }

    /// Searches the records, and calls `finish` once on this loop.
    ///
    /// A connection is followed to those on which its client continued.
    package func search(_ search: DeliverySearch, finish: @escaping (DeliveryFindings) -> Void) {
        guard case .socket(let socketID) = search.subject else {
            return ask(search, Array(0..<context.shardCount), finish: finish)
        }
        follow(socketID, search, DeliveryFindings(), finish: finish)
    }

    private func follow(
        _ socketID: SocketID,
        _ search: DeliverySearch,
        _ former: DeliveryFindings,
        finish: @escaping (DeliveryFindings) -> Void
    ) {
        var search = search
        search.subject = .socket(socketID)
        let shard = context.shard(of: socketID)
        ask(search, [shard]) { [self] found in
            var findings = former
            findings.add(found)
            guard let successor = found.connections.first?.subscription?.successor,
                findings.connections.count < Self.followedMax
            else { return finish(findings) }
            follow(successor, search, findings, finish: finish)
        }
    }

    private func ask(
        _ search: DeliverySearch,
        _ shards: [Int],
        finish: @escaping (DeliveryFindings) -> Void
    ) {
        last += 1
        pending[last] = Pending(missingCount: shards.count, finish: finish)
        for shard in shards { send(.ask(search, id: last, asker: context.shard), to: shard) }
    }

    /// Processes a message of another shard, or of this one.
    func receive(_ message: DeliveryMessage) {
        switch message {
        case .confirm(let position, let address, let socketID, let successor):
            records.confirm(position, on: address, of: socketID, successor: successor)
        case .ask(let search, let id, let asker):
            let found =
                switch search.subject {
                case .socket(let socketID): [socketID]
                case .user, .everyone: records.socketIDs
                }
            running.append(Running(search: search, id: id, asker: asker, socketIDs: found))
        case .answer(let findings, let id):
            pending[id]?.findings.add(findings)
            pending[id]?.missingCount -= 1
            guard pending[id]?.missingCount == 0, var done = pending.removeValue(forKey: id)
            else { return }
            done.findings.connections.sort { $0.record.began < $1.record.began }
            done.finish(done.findings)
        }
    }

    /// Does one portion of the work.
    func advance() {
        guard !running.isEmpty else { return }
        var search = running.removeFirst()
        let end = min(search.position + Self.portionMax, search.socketIDs.count)
        for socketID in search.socketIDs[search.position..<end] {
            guard let record = records.record(of: socketID) else { continue }
            if case .user(let user) = search.search.subject, record.identity.user != user {
                continue
            }
            search.findings.add(record, search.search)
        }
        search.position = end
        guard end == search.socketIDs.count else { return running.append(search) }
        send(.answer(search.findings, id: search.id), to: search.asker)
    }

    /// Drops unanswered requests, when the shard has stopped.
    func dropPending() {
        running = []
        pending = [:]
    }

    private func send(_ message: DeliveryMessage, to shard: Int) {
        if shard == context.shard {
            receive(message)
        } else {
            context.links.send(.delivery(message), to: shard)
        }
    }
}
