/// An edit that waits for the list's writer.
@MainActor public final class PendingEdit {
    /// The identifier of the edit; `nil` when it changed nothing and was not sent.
    public let mutation: String?
    private var outcome: Result<Void, any Error>?
    private var waiting: [CheckedContinuation<Void, any Error>] = []

    init(mutation: String?) {
        self.mutation = mutation
        if mutation == nil { outcome = .success(()) }
    }

    /// Whether the writer has accepted the edit.
    public var isConfirmed: Bool { if case .success = outcome { true } else { false } }

    /// Waits until the writer has accepted the edit.
    ///
    /// - Throws: The reason why it was refused and reverted; ``LiveListError/ended`` when the list was released.
    public func confirmed() async throws {
        if let outcome { return try outcome.get() }
        try await withCheckedThrowingContinuation { waiting.append($0) }
    }

    func end(_ outcome: Result<Void, any Error>) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        for continuation in waiting { continuation.resume(with: outcome) }
        waiting = []
    }
}
