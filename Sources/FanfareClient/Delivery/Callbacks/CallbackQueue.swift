import Dispatch
import Synchronization

/// The callback calls that wait for one executor, in order.
///
/// Calls are scheduled in blocks: a burst of events costs one block instead of one for each event, and blocks are
/// bounded so that the main queue can draw between them. The next block is scheduled when one has run, so the order
/// holds on executors with several threads too.
final class CallbackQueue: Sendable {
    /// The number and the size of the waiting calls.
    struct Load: Equatable {
        var count = 0
        var bytes = 0
    }

    private struct Call: Sendable {
        let binding: Binding
        let bytes: Int
        let run: @Sendable () -> Void
    }

    private struct State {
        var calls: [Call] = []
        var load = Load()
        var isScheduled = false
    }

    /// The most calls in one block.
    private static let callsPerBlock = 256

    let executor: CallbackExecutor
    private let state = Mutex(State())
    /// Called on the executor after each block, with the remaining load.
    private let drained: @Sendable (Load) -> Void

    init(_ executor: CallbackExecutor, drained: @escaping @Sendable (Load) -> Void) {
        self.executor = executor
        self.drained = drained
    }

    /// Adds a call for a binding; it is skipped if the binding ends first.
    ///
    /// - Parameters:
    ///   - binding: The binding.
    ///   - bytes: The approximate memory the call holds.
    ///   - run: The call.
    /// - Returns: The load of the queue after this.
    func post(
        for binding: Binding,
        bytes: Int,
        _ run: @escaping @Sendable () -> Void
    ) -> Load {
        guard executor.isAlive else { return Load() }
        let (load, isNew) = state.withLock { state in
            state.calls.append(Call(binding: binding, bytes: bytes, run: run))
            state.load.count += 1
            state.load.bytes += bytes
            return (state.load, !exchange(&state.isScheduled, with: true))
        }
        if isNew { schedule() }
        return load
    }

    private func schedule() {
        guard !executor.run({ self.runBlock() }) else { return }
        // Asynchronously: the caller of `post` holds the lock that `drained` takes.
        DispatchQueue.global().async { self.discard() }
    }

    /// Drops all calls of an actor that has been deallocated.
    private func discard() {
        state.withLock { $0 = State() }
        drained(Load())
    }

    private func runBlock() {
        let calls = state.withLock { state in
            let calls = Array(state.calls.prefix(Self.callsPerBlock))
            state.calls.removeFirst(calls.count)
            return calls
        }
        for call in calls where call.binding.isActive { call.run() }
        let (load, isMore) = state.withLock { state in
            state.load.count -= calls.count
            state.load.bytes -= calls.reduce(0) { $0 + $1.bytes }
            state.isScheduled = !state.calls.isEmpty
            return (state.load, state.isScheduled)
        }
        if isMore { schedule() }
        drained(load)
    }
}

/// The queues of a client's callbacks by executor, referenced weakly: a queue without bindings is deallocated.
struct CallbackQueues: Sendable {
    private struct Reference: Sendable {
        weak let queue: CallbackQueue?
    }

    private var queues: [ObjectIdentifier: Reference] = [:]

    /// Returns the queue of an executor, which all its callbacks share for one order.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - drained: Called after each block with the remaining load, if the queue is new.
    /// - Returns: The queue, to be retained by the caller.
    mutating func queue(
        of executor: CallbackExecutor,
        drained: @escaping @Sendable (CallbackQueue.Load) -> Void
    ) -> CallbackQueue {
        // A new actor may have the address, and so the identity, of a deallocated one.
        if let known = queues[executor.id]?.queue, known.executor.isAlive { return known }
        queues = queues.filter { $0.value.queue != nil }
        let new = CallbackQueue(executor, drained: drained)
        queues[executor.id] = Reference(queue: new)
        return new
    }
}
