import Broker
import Net
import PusherProtocol
import Redis

/// How far a loss of the connection to Redis has gone.
enum Isolation: Comparable {
    /// There is a connection, or it was lost a moment ago.
    case none
    /// Load balancers should send clients elsewhere.
    case isolated
    /// Clients are closed, and reconnect elsewhere.
    case closed
}

// Without Redis the node serves nothing of its own: events wait, then they are refused, and then its clients reconnect to
// another node.
extension ClusterHome {
    /// The time without Redis from which on `GET /health` answers 503.
    private static var isolationTime: Duration { .seconds(5) }

    /// Called when the connection is lost.
    func beginIsolation() {
        isLost = true
        settings.status.lost()
        startTimer(.patience, after: settings.patience)
        startTimer(.isolation, after: Self.isolationTime)
        startTimer(.closing, after: settings.closeAfter)
    }

    /// Called when there is a connection again.
    func endIsolation() {
        downSince = nil
        change(to: .none)
        if exchange(&isLost, with: false) { settings.status.found() }
    }

    private func change(to present: Isolation) {
        settings.status.change(from: exchange(&isolation, with: present), to: present)
    }

    /// The time until the connection has been lost for so long; zero if it has, `nil` if there is one.
    private func rest(of time: Duration) -> Duration? {
        downSince.map { max(.zero, time - $0.duration(to: context.reactor.now)) }
    }

    /// Refuses the messages that have waited for Redis, when none has come for long enough.
    func refuseWaiting() {
        guard let rest = rest(of: settings.patience) else { return }
        guard rest == .zero else { return startTimer(.patience, after: rest) }
        for message in outbox.removeAll() { refuse(message, .disconnected) }
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
        for remote in Array(remotes.values) {
            endSubscriptions(to: remote, nil)
            for subscription in exchange(&remote.waiting, with: []) {
                close(subscription.request)
            }
        }
        closeClaimants()
    }

    /// Closes the client of a subscription that cannot be granted.
    func close(_ request: SubscriptionRequest) {
        guard request.shard != context.shard else {
            return channels.reconnects.append(request.socketID)
        }
        context.links.send(.reconnect(request.socketID), to: request.shard)
    }
}
