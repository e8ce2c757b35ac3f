import Primitives

// What takes several turns: each does a portion, and events wait for no more than one.
extension ClusterHome {
    /// Whether the next turn has a portion to do.
    var hasWork: Bool {
        !granting.isEmpty || hasItems || hasNextList
            || stores.contains { $0.hasAttachments || hasCatchUps(in: $0) }
    }

    /// Does one portion of everything that takes several turns.
    func advance() {
        for store in stores {
            changeNextAttachments(in: store)
            catchUpNext(in: store)
            store.beginTurn()
        }
        grantNext()
        reconcileNext()
        askNextList()
    }
}
