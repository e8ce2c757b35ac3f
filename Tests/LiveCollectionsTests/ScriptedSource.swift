import LiveCollections
import LiveRows
import Synchronization

/// A source that says and answers what a test tells it to.
final class ScriptedSource: LiveSource {
    typealias Tell = @Sendable (SourceEvent<Player>) async -> Void

    private struct State {
        var tell: Tell?
        var fetches: [CheckedContinuation<ListSnapshot<Player>, any Error>] = []
        var commits: [(ListCommit<Player>, CheckedContinuation<UInt64?, any Error>)] = []
        var listens = 0
        var end: CheckedContinuation<Void, any Error>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    var isListening: Bool { state.withLock { $0.tell != nil } }
    var listens: Int { state.withLock { $0.listens } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var fetchCount: Int { state.withLock { $0.fetches.count } }
    var commits: [ListCommit<Player>] { state.withLock { $0.commits.map(\.0) } }

    func say(_ event: SourceEvent<Player>) async { await state.withLock { $0.tell }?(event) }

    func answerFetch(_ answer: Result<ListSnapshot<Player>, any Error>) {
        state.withLock { $0.fetches.removeFirst() }.resume(with: answer)
    }

    func answerFetch(_ revision: UInt64, _ rows: [Player]) {
        answerFetch(.success(ListSnapshot(revision: revision, rows: rows)))
    }

    func answerCommit(_ answer: Result<UInt64?, any Error>) {
        state.withLock { $0.commits.removeFirst() }.1.resume(with: answer)
    }

    func fail(_ error: any Error) {
        state.withLock { state in
            state.tell = nil
            return exchange(&state.end, with: nil)
        }?.resume(throwing: error)
    }

    func listen(_ tell: @escaping Tell) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { state in
                    state.tell = tell
                    state.listens += 1
                    state.end = continuation
                }
            }
        } onCancel: {
            state.withLock { state in
                state.isCancelled = true
                return exchange(&state.end, with: nil)
            }?.resume(throwing: CancellationError())
        }
    }

    func snapshot() async throws -> ListSnapshot<Player> {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.fetches.append(continuation) }
        }
    }

    func commit(_ commit: ListCommit<Player>) async throws -> UInt64? {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.commits.append((commit, continuation)) }
        }
    }
}
