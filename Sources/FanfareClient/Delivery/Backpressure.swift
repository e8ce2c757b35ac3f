import Logging
import Synchronization

/// Backpressure: a client stops reading while too many events wait for a reader.
extension Fanfare {
    /// Sends a value to readers, and pauses reading if one of them is behind.
    func send(
        _ state: inout ClientState,
        _ send: (_ posted: (any EventReader, Load) -> Void) -> Void
    ) {
        var behind: [(any EventReader, Load)] = []
        send { reader, load in if isTooMuch(load) { behind.append((reader, load)) } }
        for (reader, load) in behind where state.overloaded.insert(reader.id).inserted {
            guard state.overloaded.count == 1 else { continue }
            let line = "\(load.count) events wait for \(reader.name): reading is paused"
            state.log.append((.warning, line))
            state.session.setReading(false, at: options.clock.now())
            state.connection?.pauseReading()
        }
    }

    private func isTooMuch(_ load: Load) -> Bool {
        load.count > options.maxPendingCallbacks || load.bytes > options.pendingCallbackBytesMax
    }

    /// Resumes reading once every reader is below half of the limits.
    func drained(_ reader: ObjectIdentifier, _ load: Load) {
        guard load.count <= options.maxPendingCallbacks / 2,
            load.bytes <= options.pendingCallbackBytesMax / 2
        else { return }
        state.withLock { state in
            guard state.overloaded.remove(reader) != nil, state.overloaded.isEmpty else { return }
            state.session.setReading(true, at: options.clock.now())
            state.connection?.resumeReading()
        }
    }
}
