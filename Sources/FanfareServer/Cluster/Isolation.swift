import Broker
import Net
import PusherProtocol
import Redis

// Without a store the node serves nothing of its own on the store's partitions: events wait, then they are refused, and then
// the clients with channels there reconnect to another node.
extension ClusterStore {
    /// The time without Redis from which on `GET /health` answers 503.
    private static var isolationTime: Duration { .seconds(5) }

    /// Called when the connection is lost.
    func beginIsolation() {
        isLost = true
        status.lost()
        watchIsolation()
    }

    /// Follows how far a loss goes that began at ``downSince``.
    func watchIsolation() {
        startTimer(.patience, after: rest(of: settings.patience) ?? .zero)
        startTimer(.isolation, after: rest(of: Self.isolationTime) ?? .zero)
        startTimer(.closing, after: rest(of: settings.closeAfter) ?? .zero)
    }

    /// Called when there is a connection again.
    func endIsolation() {
        downSince = nil
        change(to: .none)
        if exchange(&isLost, with: false) { status.found() }
    }

    private func change(to present: Isolation) {
        status.change(from: exchange(&isolation, with: present), to: present)
    }

    /// The time until the connection has been lost for so long; zero if it has, `nil` if there is one.
    private func rest(of time: Duration) -> Duration? {
        downSince.map { max(.zero, time - $0.duration(to: context.reactor.now)) }
    }

    /// Whether the connection has been lost for so long that nothing waits for it any more.
    var isOutOfPatience: Bool { !isOpen && rest(of: settings.patience) == .zero }

    /// Refuses the messages and queries that have waited for Redis, when none has come for long enough.
    func refuseWaiting() {
        guard let rest = rest(of: settings.patience) else { return }
        guard rest == .zero else { return startTimer(.patience, after: rest) }
        home.refuseWaitingQueries()
        let returned = transit?.returned ?? []
        transit?.returned = []
        for message in returned + outbox.removeAll() { home.refuse(message, .disconnected) }
    }

    func becomeIsolated() {
        guard let rest = rest(of: Self.isolationTime), isolation == .none else { return }
        guard rest == .zero else { return startTimer(.isolation, after: rest) }
        change(to: .isolated)
    }

    /// Closes the clients whose messages cannot arrive, so that they reconnect to another node.
    func closeClients() {
        guard let rest = rest(of: settings.closeAfter), isolation != .closed else { return }
        guard rest == .zero else { return startTimer(.closing, after: rest) }
        change(to: .closed)
        home.closeClients(of: self)
    }
}

extension ClusterHome {
    fileprivate func closeClients(of store: ClusterStore) {
        for remote in remotes(in: store) {
            endSubscriptions(to: remote, nil)
            // They wait until their connections have ended: each withdraws its own.
            for subscription in remote.waiting.inOrder { close(subscription.request) }
        }
        closeClaimants(of: store)
    }

    /// The channels of a store's partitions.
    func remotes(in store: ClusterStore) -> [RemoteChannel] {
        remotes.values.filter { self.store(of: $0) === store }
    }

    /// Closes the client of a subscription that cannot be granted.
    func close(_ request: SubscriptionRequest) {
        guard request.shard != context.shard else {
            return channels.reconnects.append(request.socketID)
        }
        context.links.send(.reconnect(request.socketID), to: request.shard)
    }
}
