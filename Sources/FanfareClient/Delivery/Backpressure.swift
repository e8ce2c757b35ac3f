import Logging
import Synchronization

/// Backpressure: a client stops reading while too many callback calls wait.
extension FanfareClient {
    func recordLoad(
        _ load: CallbackQueue.Load,
        of queue: CallbackQueue,
        _ state: inout ClientState
    ) {
        let isOverloaded =
            load.count > options.maxPendingCallbacks || load.bytes > options.pendingCallbackBytesMax
        let id = queue.executor.id
        guard isOverloaded, state.overloaded.insert(id).inserted else { return }
        guard state.overloaded.count == 1 else { return }
        state.log.append(
            (.warning, "\(load.count) events wait for \(queue.executor.name): reading is paused")
        )
        state.session.setReading(false, at: options.clock.now())
        state.connection?.pauseReading()
    }

    /// Resumes reading once every queue is below half of the limits.
    func queueDrained(_ id: ObjectIdentifier, _ load: CallbackQueue.Load) {
        guard load.count <= options.maxPendingCallbacks / 2,
            load.bytes <= options.pendingCallbackBytesMax / 2
        else { return }
        state.withLock { state in
            guard state.overloaded.remove(id) != nil, state.overloaded.isEmpty else { return }
            state.session.setReading(true, at: options.clock.now())
            state.connection?.resumeReading()
        }
    }
}
