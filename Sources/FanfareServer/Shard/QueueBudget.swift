import Broker
import Net
import PusherProtocol

/// What may wait for clients that read slowly: this shard's share of the memory for all apps, and for each.
///
/// A shard looks after its own queues alone. When they hold three quarters of its share it lets nobody in (4100), who
/// would only need more; when they hold all of it the longest are given up, until an eighth is free.
extension ShardCore {
    /// What the app's clients hold, and may hold, of this shard's memory.
    func queueAccount(of app: App) -> MemoryBudget {
        if let account = queueAccounts[app.id] { return account }
        let account = MemoryBudget(byteCountMax: queuedBytesMax(of: app))
        queueAccounts[app.id] = account
        return account
    }

    /// Takes over what the apps may hold from here on.
    func adoptQueueLimits() {
        queueAccounts = queueAccounts.filter { id, account in
            guard let app = registry.apps[id] else { return account.byteCount > 0 }
            account.byteCountMax = queuedBytesMax(of: app)
            return true
        }
    }

    /// Refuses a newcomer while too much waits for others.
    func checkQueues(of app: App) throws(ConnectionRefusal) {
        if reactor.queueBudget.isNearlyFull {
            throw ConnectionRefusal(.overCapacity, meeting: .queuedBytesTotal)
        }
        if !queueAccounts.isEmpty, queueAccounts[app.id]?.isNearlyFull == true {
            throw ConnectionRefusal(.overCapacity, meeting: .appQueuedBytes)
        }
    }

    private func queuedBytesMax(of app: App) -> Int {
        app.limits.queuedBytesMax.map { $0 / shardCount } ?? .max
    }
}
