/// The callbacks for one kind of value, in the order of registration.
struct Listeners<Value: Sendable>: Sendable {
    private struct Listener: Sendable {
        let token: ListenerToken
        let queue: CallbackQueue
        let callback: Callback<Value>
    }

    private var listeners: [Listener] = []

    var isEmpty: Bool { listeners.isEmpty }

    /// Adds a callback.
    mutating func add(
        _ callback: Callback<Value>,
        _ token: ListenerToken,
        on queue: CallbackQueue
    ) {
        listeners.append(Listener(token: token, queue: queue, callback: callback))
    }

    /// Posts a value to every callback.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - bytes: The approximate memory that it holds.
    ///   - posted: Called for each queue that a call was added to, with the queue's load.
    func send(_ value: Value, bytes: Int = 0, posted: (any EventReader, Load) -> Void = { _, _ in })
    {
        for listener in listeners {
            let callback = listener.callback
            let load = listener.queue.post(for: listener.token, bytes: bytes) { actor in
                await callback.call(with: value, on: actor)
            }
            posted(listener.queue, load)
        }
    }

    /// Removes the callback of a token.
    ///
    /// - Returns: The previous listeners, to be released outside the lock: a callback may own anything.
    mutating func remove(_ token: ListenerToken) -> any Sendable {
        let before = listeners
        listeners.removeAll { $0.token === token }
        return before
    }
}

/// The buffers of the readers of one kind of sequence.
struct EventBuffers<Element: Sendable>: Sendable {
    private struct Reference: Sendable {
        /// Retained by the reader; `nil` once that has released it.
        weak let buffer: EventBuffer<Element>?
    }

    private var buffers: [Reference] = []

    var isEmpty: Bool { buffers.isEmpty }

    /// Adds a buffer, and removes those of readers that have been deallocated.
    mutating func add(_ buffer: EventBuffer<Element>) {
        buffers.removeAll { $0.buffer == nil }
        buffers.append(Reference(buffer: buffer))
    }

    /// Sends an element to every reader.
    func send(
        _ element: Element,
        bytes: Int = 0,
        posted: (any EventReader, Load) -> Void = { _, _ in }
    ) {
        for reference in buffers {
            guard let buffer = reference.buffer else { continue }
            posted(buffer, buffer.send(element, bytes: bytes))
        }
    }

    /// Ends the sequences.
    mutating func finish(throwing error: FanfareError? = nil) {
        for reference in buffers { reference.buffer?.finish(throwing: error) }
        buffers = []
    }
}

/// Listeners or buffers by key, without empty entries.
struct ListenerTable<Key: Hashable & Sendable, Entry: ListenerEntry>: Sendable {
    private var entries: [Key: Entry] = [:]

    /// The keys that have listeners.
    var keys: some Collection<Key> { entries.keys }

    subscript(key: Key) -> Entry {
        get { entries[key] ?? Entry() }
        set { entries[key] = newValue.isEmpty ? nil : newValue }
        _modify {
            yield &entries[key, default: Entry()]
            if entries[key]?.isEmpty == true { entries[key] = nil }
        }
    }
}

/// An entry of a ``ListenerTable``.
protocol ListenerEntry: Sendable {
    init()
    var isEmpty: Bool { get }
}

extension Listeners: ListenerEntry {}
extension EventBuffers: ListenerEntry {}
