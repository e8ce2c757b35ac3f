/// An edit on its way to the list's writer.
@MainActor public final class PendingEdit {
    /// The name that the edit goes by; `nil` when it changed nothing and was not sent.
    public let mutation: String?
    private var outcome: Result<Void, any Error>?
    private var waiting: [CheckedContinuation<Void, any Error>] = []

    init(mutation: String?) {
        self.mutation = mutation
        if mutation == nil { outcome = .success(()) }
    }

    /// Whether the writer has taken the edit in.
    public var isConfirmed: Bool { if case .success = outcome { true } else { false } }

    /// Waits until the writer has taken the edit in.
    ///
    /// - Throws: Why it was refused and taken back; ``LiveListError/ended`` when the list is gone.
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
