import Logging
import Synchronization

/// What a client does when its callbacks are slower than the broker.
extension FanfareClient {
    func note(
        _ load: CallbackQueue.Load,
        of queue: CallbackQueue,
        _ state: inout ClientState
    ) {
        let isOverloaded =
            load.count > options.maxPendingCallbacks || load.bytes > options.pendingCallbackBytesMax
        let id = queue.place.id
        guard isOverloaded, state.overloaded.insert(id).inserted else { return }
        guard state.overloaded.count == 1 else { return }
        state.log.append(
            (.warning, "\(load.count) events wait for \(queue.place.name): reading pauses")
        )
        state.session.setReading(false, at: options.clock.now())
        state.connection?.pauseReading()
    }

    func drained(_ id: ObjectIdentifier, _ load: CallbackQueue.Load) {
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
