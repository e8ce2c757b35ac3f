import Primitives

// Work that takes several turns: each turn does a portion, so that events wait for no more than one.
extension ClusterHome {
    /// Whether the next turn has a portion to do.
    var hasWork: Bool {
        !granting.isEmpty || hasDue || hasItems || hasNextList
            || stores.contains { store in
                store.takesPacedCalls && !store.attachmentQueue.isEmpty || hasCatchUps(in: store)
            }
    }

    /// Does one portion of everything that takes several turns.
    func advance() {
        for store in stores {
            changeNextAttachments(in: store)
            catchUpNext(in: store)
        }
        executeDue()
        for store in stores { store.beginTurn() }
        grantNext()
        reconcileNext()
        askNextList()
    }
}
