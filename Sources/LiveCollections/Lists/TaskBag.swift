import Synchronization

/// Tasks that end with whoever owns them.
final class TaskBag: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Begins a task on the main actor, and forgets it when it is done.
    @MainActor func add(_ body: @escaping @MainActor @Sendable () async -> Void) {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        // The task runs on this actor, so it cannot end before it is noted.
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
