import Net
import RESP
import Redis
import Shard

// Without a store the node does not serve the store's partitions: events wait, and then they are refused. Later the
// clients with channels there are closed, so that they reconnect to another node. A store whose memory is full refuses
// all events itself; the time for which it does counts like the time of a loss.
extension ClusterStore {
    /// The time without Redis after which `GET /health` answers 503.
    private static var isolationTime: Duration { .seconds(5) }

    /// Called when the connection is lost.
    func beginIsolation() {
        isLost = true
        status.lost()
        watchIsolation()
    }

    /// Applies the consequences of a loss that began at ``downSince``.
    func watchIsolation() {
        startTimer(.patience, after: rest(of: settings.patience) ?? .zero)
        startTimer(.isolation, after: unservedRest(of: Self.isolationTime) ?? .zero)
        startTimer(.closing, after: unservedRest(of: settings.closeAfter) ?? .zero)
    }

    /// Called when there is a connection again.
    func endIsolation() {
        downSince = nil
        if fullSince == nil {
            unclosed = []
            change(to: .none)
        }
        if exchange(&isLost, with: false) { status.found() }
    }

    /// Called when the server has refused a write because its memory is full, so that its partitions cannot be served.
    func lacksMemory(_ error: RedisError) {
        guard fullSince == nil else { return }
        fullSince = context.reactor.now
        status.failed(reason(error.text))
        watchIsolation()
    }

    /// The reason of a fault, with the server.
    func reason(_ text: String) -> String { "\(address.url): the server has refused: \(text)" }

    /// Called when the server accepts writes.
    func hasMemory() {
        guard fullSince != nil else { return }
        fullSince = nil
        // A loss has its own reason.
        guard downSince == nil else { return }
        if isolation != .none { status.hasMemory() }
        status.failed(nil)
        endIsolation()
    }

    /// Checks whether the server accepts writes.
    func askForMemory() {
        guard let index = partitions.first else { return }
        // Refused like any other write without memory; changes nothing, and makes no key.
        let call = AwaitedCall { [self] reply in
            if !reply.isError { hasMemory() }
        }
        send(["SETRANGE", "\(delegate.counter(of: index))", "0", ""], to: index, as: call)
    }

    private func change(to present: Isolation) {
        status.change(from: exchange(&isolation, with: present), to: present)
    }

    /// The time until the connection has been lost for this long; zero if it has, `nil` if it is open.
    private func rest(of time: Duration) -> Duration? { rest(of: time, since: downSince) }

    /// The time until the connection has been lost, or the server's memory full, for this long; `nil` if neither is the
    /// case.
    private func unservedRest(of time: Duration) -> Duration? {
        let since = [downSince, fullSince].compactMap(\.self).min()
        return rest(of: time, since: since)
    }

    private func rest(of time: Duration, since start: MonotonicTime?) -> Duration? {
        start.map { max(.zero, time - $0.duration(to: context.reactor.now)) }
    }

    /// Whether the connection has been lost for so long that nothing waits for it any more.
    var isOutOfPatience: Bool { !isOpen && rest(of: settings.patience) == .zero }

    /// Refuses the messages and queries that have waited for Redis for too long.
    func refuseWaiting() {
        guard let rest = rest(of: settings.patience) else { return }
        guard rest == .zero else { return startTimer(.patience, after: rest) }
        delegate.refuseQueries()
        let returned = transit?.returned ?? []
        transit?.returned = []
        for message in returned + outbox.removeAll() {
            delegate.refuse(message, .disconnected)
        }
    }

    func becomeIsolated() {
        guard let rest = unservedRest(of: Self.isolationTime), isolation == .none else { return }
        guard rest == .zero else { return startTimer(.isolation, after: rest) }
        change(to: .isolated)
    }

    /// Closes the clients whose messages cannot arrive, so that they reconnect to another node.
    func closeClients() {
        guard let rest = unservedRest(of: settings.closeAfter) else { return }
        guard rest == .zero else { return startTimer(.closing, after: rest) }
        if isolation != .closed {
            change(to: .closed)
            delegate.closeClaimants(of: self)
            unclosed = partitions
        }
        guard let index = unclosed.popLast() else { return }
        delegate.closeClients(in: index)
        if !unclosed.isEmpty { startTimer(.closing, after: ClusterSettings.nextTurn) }
    }
}
