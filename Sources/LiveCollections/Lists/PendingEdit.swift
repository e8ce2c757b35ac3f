/// An edit that waits for the list's writer.
@MainActor public final class PendingEdit {
    /// The ID of the edit; `nil` if it changed nothing and was not sent.
    public let mutation: String?
    private var outcome: Result<Void, any Error>?
    private var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var nextWaiter = 0

    init(mutation: String?) {
        self.mutation = mutation
        if mutation == nil { outcome = .success(()) }
    }

    /// Whether the writer has accepted the edit.
    public var isConfirmed: Bool { if case .success = outcome { true } else { false } }

    /// Waits until the writer has accepted the edit.
    ///
    /// - Throws: The reason why it was refused and reverted; ``LiveListError/ended`` when the list was released;
    ///   `CancellationError` when the waiting task is cancelled, which does not affect the edit.
    public func confirmed() async throws {
        if let outcome { return try outcome.get() }
        nextWaiter += 1
        let id = nextWaiter
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                // If the task was already cancelled, its handler has found no continuation.
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    waiting[id] = continuation
                }
            }
        } onCancel: {
            Task { @MainActor in
                waiting.removeValue(forKey: id)?.resume(throwing: CancellationError())
            }
        }
    }

    func end(_ outcome: Result<Void, any Error>) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        for continuation in waiting.values { continuation.resume(with: outcome) }
        waiting = [:]
    }
}
