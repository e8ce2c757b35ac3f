public import Dispatch
import Synchronization

extension FanfareClient {
    /// Calls back with what goes wrong while the connection goes on, on the main actor.
    ///
    /// These are errors that the broker reports, subscriptions that it refuses, messages that are
    /// not understood, and events that are not what a callback expects.
    @discardableResult
    public func onError(
        perform: @escaping @MainActor @Sendable (FanfareError) -> Void
    ) -> Binding {
        onError(on: .main) { error in MainActor.assumeIsolated { perform(error) } }
    }

    /// Calls back with what goes wrong while the connection goes on, on a serial queue.
    @discardableResult
    public func onError(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        bindErrors(on: .queue(queue), perform)
    }

    func bindErrors(
        on place: CallbackExecutor,
        _ callback: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        add(to: \.errors, on: place, callback)
    }

    func report(_ error: FanfareError) { act { _ in [.report(error)] } }

    // MARK: Registering

    func bind(
        _ topic: Topic,
        on place: CallbackExecutor,
        _ callback: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        add(to: \.events[topic], on: place, callback)
    }

    func buffer(_ topic: Topic, limit: Int) -> EventBuffer<ChannelEvent> {
        let buffer = EventBuffer<ChannelEvent>(limit: limit, policy: .endsWithError)
        state.withLock { $0.events[topic].add(buffer) }
        return buffer
    }

    func add<Value: Sendable>(
        to listeners: any WritableKeyPath<ClientState, Listeners<Value>> & Sendable,
        on place: CallbackExecutor,
        _ callback: @escaping @Sendable (Value) -> Void
    ) -> Binding {
        state.withLock { state in
            let queue = state.queues.queue(at: place) { [weak self] load in
                self?.drained(place.id, load)
            }
            let binding = Binding(queue: queue) { [weak self] binding in
                let removed = self?.state.withLock { $0[keyPath: listeners].remove(binding) }
                // What the callback owned ends here, where no lock is held.
                _ = removed
            }
            state[keyPath: listeners].add(binding, callback)
            return binding
        }
    }
}
