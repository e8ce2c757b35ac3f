import LiveCollections
import LiveRows
import Synchronization

/// A source whose events and answers are controlled by a test.
final class ScriptedSource: LiveSource {
    typealias Tell = @Sendable (SourceEvent<Player>) async -> Void

    private struct State {
        var tell: Tell?
        var fetches: [Question<Void, ListSnapshot<Player>>] = []
        var commits: [Question<ListCommit<Player>, UInt64?>] = []
        var questions = 0
        var listens = 0
        var end: CheckedContinuation<Void, any Error>?
        var isCancelled = false
        var revision: UInt64?
        var revisionCount = 0
    }

    /// A request of a list that waits for its answer.
    private struct Question<Subject: Sendable, Answer: Sendable>: Sendable {
        let number: Int
        let subject: Subject
        let continuation: CheckedContinuation<Answer, any Error>
    }

    private let state = Mutex(State())

    var isListening: Bool { state.withLock { $0.tell != nil } }
    var listens: Int { state.withLock { $0.listens } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    var fetchCount: Int { state.withLock { $0.fetches.count } }
    var commits: [ListCommit<Player>] { state.withLock { $0.commits.map(\.subject) } }

    func say(_ event: SourceEvent<Player>) async { await state.withLock { $0.tell }?(event) }

    func answerFetch(_ answer: Result<ListSnapshot<Player>, any Error>) {
        state.withLock { $0.fetches.removeFirst() }.continuation.resume(with: answer)
    }

    func answerFetch(_ revision: UInt64, _ rows: [Player]) {
        answerFetch(.success(ListSnapshot(revision: revision, rows: rows)))
    }

    /// Makes a list with rows 1, 2 and 3 at revision 5.
    @MainActor func liveList(_ options: ListOptions = impatient) async throws -> LiveList<Player> {
        let list = LiveList(self, options: options)
        try await until { isListening }
        await say(.subscribed)
        try await until { fetchCount == 1 }
        answerFetch(5, [Player(1), Player(2), Player(3)])
        try await until { list.state.isLive }
        return list
    }

    func answerCommit(_ answer: Result<UInt64?, any Error>) {
        state.withLock { $0.commits.removeFirst() }.continuation.resume(with: answer)
    }

    func fail(_ error: any Error) {
        state.withLock { state in
            state.tell = nil
            return exchange(&state.end, with: nil)
        }?.resume(throwing: error)
    }

    /// Ends the events without an error.
    func end() {
        state.withLock { state in
            state.tell = nil
            return exchange(&state.end, with: nil)
        }?.resume()
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

    /// The number of times that the list has asked for the revision.
    var revisionCount: Int { state.withLock { $0.revisionCount } }

    func setRevision(_ revision: UInt64) { state.withLock { $0.revision = revision } }

    func revision() async throws -> UInt64? {
        state.withLock { state in
            state.revisionCount += 1
            return state.revision
        }
    }

    func snapshot() async throws -> ListSnapshot<Player> {
        try await ask((), among: \.fetches)
    }

    func commit(_ commit: ListCommit<Player>) async throws -> UInt64? {
        try await ask(commit, among: \.commits)
    }

    /// Waits for the test's answer, or for the list to cancel its tasks.
    private func ask<Subject, Answer>(
        _ subject: Subject,
        among questions: any WritableKeyPath<State, [Question<Subject, Answer>]> & Sendable
    ) async throws -> Answer {
        let number = state.withLock { state in
            state.questions += 1
            return state.questions
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let question = Question(
                    number: number,
                    subject: subject,
                    continuation: continuation
                )
                let isLate = state.withLock { state in
                    // A cancellation takes this lock, so it cannot happen between the check and the insertion.
                    if Task.isCancelled { return true }
                    state[keyPath: questions].append(question)
                    return false
                }
                if isLate { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let question = state.withLock { state in
                state[keyPath: questions].firstIndex { $0.number == number }
                    .map { state[keyPath: questions].remove(at: $0) }
            }
            question?.continuation.resume(throwing: CancellationError())
        }
    }
}
