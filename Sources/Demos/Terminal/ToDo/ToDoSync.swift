/// Synchronises the local copy with the backend: sends the queued edits, then fetches all rows.
///
/// The screen is bound to a query of the local database and needs no notification.
actor ToDoSync {
    /// The outcome of the last attempt.
    enum Outcome: Equatable, Sendable {
        case synced
        /// The backend is unavailable; `queuedCount` edits are queued.
        case offline(reason: String, queuedCount: Int)
    }

    /// The interval between attempts without an event.
    static let pause = Duration.seconds(5)

    private let local: LocalToDos
    private let backend: ToDoBackend
    private let report: @Sendable (Outcome) async -> Void
    private let refused: @Sendable (String) async -> Void
    private var isSyncing = false
    private var mustSyncAgain = false

    /// Creates a sync; it reports the outcome of each attempt, and the reason for each edit that was refused and
    /// reverted.
    init(
        _ local: LocalToDos,
        _ backend: ToDoBackend,
        report: @escaping @Sendable (Outcome) async -> Void,
        refused: @escaping @Sendable (String) async -> Void
    ) {
        self.local = local
        self.backend = backend
        self.report = report
        self.refused = refused
    }

    /// Synchronises; a call during a running sync makes the sync repeat.
    func sync() async throws {
        mustSyncAgain = true
        guard !isSyncing else { return }
        isSyncing = true
        defer { isSyncing = false }
        while mustSyncAgain {
            mustSyncAgain = false
            await report(try await syncOnce())
        }
    }

    private func syncOnce() async throws -> Outcome {
        do {
            while let edit = try local.queuedEdits().first {
                do {
                    try await backend.commit(edit)
                } catch let refusal as ToDoBackend.Refusal {
                    await refused("\(refusal)")
                }
                try local.remove(edit)
            }
            try local.replace(with: try await backend.fetchAll())
            return .synced
        } catch let error as ToDoBackend.Unavailable {
            return .offline(reason: "\(error)", queuedCount: try local.queuedEdits().count)
        }
    }
}
