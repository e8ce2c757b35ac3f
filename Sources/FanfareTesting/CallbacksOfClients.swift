import FanfareClient

/// The pending callbacks of the clients that have connected.
struct CallbacksOfClients: Sendable {
    private struct Reference: Sendable {
        /// Retained by the client, and by its callbacks until they have returned.
        weak let calls: PendingCallbacks?
    }

    private var clients: [Reference] = []

    var count: Int { clients.reduce(0) { $0 + ($1.calls?.count ?? 0) } }

    /// Adds a connection's client if it is new; `whenIdle` is called each time all callbacks of the client have
    /// returned.
    mutating func add(
        _ receiver: any TransportReceiver,
        whenIdle: @escaping @Sendable () -> Void
    ) {
        guard let calls = (receiver as? any PendingCallbacksReporting)?.pendingCallbacks,
            !clients.contains(where: { $0.calls === calls })
        else { return }
        clients.removeAll { $0.calls == nil }
        clients.append(Reference(calls: calls))
        calls.whenIdle(whenIdle)
    }
}
