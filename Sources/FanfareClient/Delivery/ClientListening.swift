public import Dispatch
import Synchronization

extension FanfareClient {
    /// Calls `perform` on the main actor with each error that leaves the connection open.
    ///
    /// These are errors reported by the broker, refused subscriptions, messages that cannot be parsed, and events that
    /// cannot be decoded.
    @discardableResult
    public func onError(
        perform: @escaping @MainActor @Sendable (FanfareError) -> Void
    ) -> Binding {
        onError(on: .main) { error in MainActor.assumeIsolated { perform(error) } }
    }

    /// Calls `perform` on a serial queue with each error that leaves the connection open.
    @discardableResult
    public func onError(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        bindErrors(on: .queue(queue), perform)
    }

    func bindErrors(
        on executor: CallbackExecutor,
        _ callback: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        add(to: \.errors, on: executor, callback)
    }

    func report(_ error: FanfareError) { act { _ in [.report(error)] } }

    // MARK: Registration

    func bind(
        _ topic: Topic,
        on executor: CallbackExecutor,
        _ callback: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        add(to: \.events[topic], on: executor, callback)
    }

    func buffer(_ topic: Topic, limit: Int) -> EventBuffer<ChannelEvent> {
        let buffer = EventBuffer<ChannelEvent>(limit: limit, policy: .endsWithError)
        state.withLock { $0.events[topic].add(buffer) }
        return buffer
    }

    func add<Value: Sendable>(
        to listeners: any WritableKeyPath<ClientState, Listeners<Value>> & Sendable,
        on executor: CallbackExecutor,
        _ callback: @escaping @Sendable (Value) -> Void
    ) -> Binding {
        state.withLock { state in
            let queue = state.queues.queue(of: executor) { [weak self] load in
                self?.queueDrained(executor.id, load)
            }
            let binding = Binding(queue: queue) { [weak self] binding in
                let removed = self?.state.withLock { $0[keyPath: listeners].remove(binding) }
                // The callback's captures are released here, outside the lock.
                _ = removed
            }
            state[keyPath: listeners].add(binding, callback)
            return binding
        }
    }
}
