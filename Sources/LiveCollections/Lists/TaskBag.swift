import Primitives

/// Tasks that are cancelled when their owner is released.
final class TaskBag: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Lock(State())

    /// Starts a task on the main actor and removes it when it ends.
    @MainActor func add(_ body: @escaping @MainActor @Sendable () async -> Void) {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        // The task runs on this actor, so it cannot end before it is stored.
        let task = Task { [weak self] in
            await body()
            self?.state.withLock { _ = $0.tasks.removeValue(forKey: id) }
        }
        state.withLock { $0.tasks[id] = task }
    }

    deinit {
        for task in state.withLock({ $0.tasks.values.map { $0 } }) { task.cancel() }
    }
}
