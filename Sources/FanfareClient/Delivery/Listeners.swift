/// The listeners to one kind of value, in the order of registration.
struct Listeners<Value: Sendable>: Sendable {
    private struct Buffer: Sendable {
        /// Retained by the sequence's reader; `nil` once that has released it.
        weak let buffer: EventBuffer<Value>?
    }

    private enum Listener: Sendable {
        case callback(Binding, @Sendable (Value) -> Void)
        case buffer(Buffer)
    }

    private var listeners: [Listener] = []

    var isEmpty: Bool { listeners.isEmpty }

    /// Adds a callback, and removes callbacks whose actor has been deallocated.
    mutating func add(_ binding: Binding, _ callback: @escaping @Sendable (Value) -> Void) {
        listeners.removeAll {
            if case .callback(let old, _) = $0 { !old.queue.executor.isAlive } else { false }
        }
        listeners.append(.callback(binding, callback))
    }

    /// Adds a sequence, and removes sequences that have been deallocated.
    mutating func add(_ buffer: EventBuffer<Value>) {
        listeners.removeAll { if case .buffer(let old) = $0 { old.buffer == nil } else { false } }
        listeners.append(.buffer(Buffer(buffer: buffer)))
    }

    /// Sends a value to every listener.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - bytes: The approximate memory it holds.
    ///   - posted: Called for each queue that a call was added to, with the queue's load.
    func send(
        _ value: Value,
        bytes: Int = 0,
        posted: (CallbackQueue, CallbackQueue.Load) -> Void
    ) {
        for listener in listeners {
            switch listener {
            case .buffer(let buffer): buffer.buffer?.send(value)
            case .callback(let binding, let callback):
                let load = binding.queue.post(for: binding, bytes: bytes) { callback(value) }
                posted(binding.queue, load)
            }
        }
    }

    /// Ends the sequences; callbacks stay.
    mutating func finish(throwing error: FanfareError? = nil) {
        listeners.removeAll { listener in
            guard case .buffer(let buffer) = listener else { return false }
            buffer.buffer?.finish(throwing: error)
            return true
        }
    }

    /// Removes the callback of a binding.
    ///
    /// - Returns: The previous listeners, to be released outside the lock: a callback may own anything.
    mutating func remove(_ binding: Binding) -> [any Sendable] {
        let before = listeners
        listeners.removeAll { if case .callback(binding, _) = $0 { true } else { false } }
        return before
    }
}

/// The listeners to one kind of value, by channel.
struct ListenerTable<Value: Sendable>: Sendable {
    private var channels: [String: Listeners<Value>] = [:]

    subscript(channel: String) -> Listeners<Value> {
        get { channels[channel] ?? Listeners() }
        set { channels[channel] = newValue.isEmpty ? nil : newValue }
        _modify {
            yield &channels[channel, default: Listeners()]
            if channels[channel]?.isEmpty == true { channels[channel] = nil }
        }
    }

    /// Ends all sequences.
    mutating func finish(throwing error: FanfareError?) {
        for channel in channels.keys { self[channel].finish(throwing: error) }
    }
}
