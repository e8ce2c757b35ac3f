import Dispatch
import Synchronization

/// The calls that wait for one place, in order.
///
/// A burst of events costs the place one block, not one an event, and a flood is cut into blocks,
/// so that a main queue gets to draw between them. The next block is asked for when one has run, so
/// the order holds also where several threads serve a place.
final class CallbackQueue: Sendable {
    /// What the waiting calls amount to.
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

    /// How many calls one block makes.
    private static let callsPerBlock = 256

    let place: CallbackExecutor
    private let state = Mutex(State())
    /// Told, at the place, what is still waiting after a block of calls.
    private let drained: @Sendable (Load) -> Void

    init(_ place: CallbackExecutor, drained: @escaping @Sendable (Load) -> Void) {
        self.place = place
        self.drained = drained
    }

    /// Adds a call for a binding, which is made unless the binding ends before.
    ///
    /// - Parameters:
    ///   - binding: The binding.
    ///   - bytes: What the call keeps in memory, more or less.
    ///   - run: The call.
    /// - Returns: What is waiting now.
    func post(
        for binding: Binding,
        bytes: Int,
        _ run: @escaping @Sendable () -> Void
    ) -> Load {
        guard place.isThere else { return Load() }
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
        guard !place.run({ self.runBlock() }) else { return }
        // Not from here: whoever posts holds the lock that `drained` takes.
        DispatchQueue.global().async { self.discard() }
    }

    /// Nobody is there any more to be called.
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
