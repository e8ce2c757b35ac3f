/// Keeps the local copy and the backend the same: sends the edits that wait, then takes what the backend has.
///
/// It shows nothing to anybody. The screen is bound to a query of the local database, and follows by itself.
actor ToDoSync {
    /// What came of the last attempt.
    enum Outcome: Equatable, Sendable {
        case synced
        /// So many edits wait until the backend is there.
        case away(reason: String, waitingCount: Int)
    }

    /// How long to wait before the next attempt when the backend is away, or nothing has told of a change.
    static let pause = Duration.seconds(5)

    private let local: LocalToDos
    private let backend: ToDoBackend
    private let report: @Sendable (Outcome) async -> Void
    private let refused: @Sendable (String) async -> Void
    private var isSyncing = false
    private var mustSyncAgain = false

    /// Prepares a sync.
    ///
    /// - Parameters:
    ///   - local: The local copy.
    ///   - backend: The backend.
    ///   - report: Hears what came of each attempt.
    ///   - refused: Hears why an edit was not taken; it is taken back.
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

    /// Makes both the same as of now; a call while another is under way makes that one go on.
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
            while let edit = try local.waitingEdits().first {
                do {
                    try await backend.commit(edit)
                } catch let refusal as ToDoBackend.Refusal {
                    await refused("\(refusal)")
                }
                try local.forget(edit)
            }
            try local.take(try await backend.everything())
            return .synced
        } catch let away as ToDoBackend.Away {
            return .away(reason: "\(away)", waitingCount: try local.waitingEdits().count)
        }
    }
}
