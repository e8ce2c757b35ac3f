import Primitives

/// The task that writes to an app's store, one call of the store at a time; nobody waits for it.
final class StoreWriting: Sendable {
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let task = Lock<Task<Void, Never>?>(nil)

    init() { (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    // Not cancelled: what was added before is still written.
    deinit { signal.finish() }

    /// Writes what was added, as soon as it has started and the last call has returned.
    func wake() { signal.yield() }

    /// Reads the store, then writes whenever something was added; does nothing when called again.
    func start(
        _ read: @escaping @Sendable () async -> Void,
        _ write: @escaping @Sendable () async -> Void
    ) {
        task.withLock { task in
            guard task == nil else { return }
            task = Task { [signals] in
                await read()
                for await _ in signals { await write() }
                await write()
            }
        }
    }
}
