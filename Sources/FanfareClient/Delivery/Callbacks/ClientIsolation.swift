// Callbacks on other executors than the main actor and dispatch queues.
extension FanfareClient {
    // MARK: Events of all channels

    /// Calls `perform` on the caller's actor for each event with this name on any channel.
    ///
    /// As ``Channel/bind(_:isolation:perform:)-(String?,_,_)``.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in the order of the events, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        isolation: isolated any Actor,
        perform: @escaping (ChannelEvent) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return bind(event, on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor for each event with this name on any channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor in the order of the events, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind<A: Actor>(
        _ event: String? = nil,
        on actor: A,
        perform: @escaping @Sendable (isolated A, ChannelEvent) -> Void
    ) -> Binding {
        bind(event, on: .actor(actor)) { [weak actor] event in
            actor?.assumeIsolated { perform($0, event) }
        }
    }

    /// Calls `perform` on an executor for each event with this name on any channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - executor: The executor.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(Topic(event: event), on: executor, perform)
    }

    // MARK: Status

    /// Calls `perform` on the caller's actor with the old and the new status at each change.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called at each change, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onStatusChange(
        isolation: isolated any Actor,
        perform: @escaping (_ old: ConnectionStatus, _ new: ConnectionStatus) -> Void
    ) -> Binding {
        let callback = ConfinedCallback<StatusChange>(of: isolation) { perform($0.old, $0.new) }
        return bindStatus(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor with the old and the new status at each change.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor at each change, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onStatusChange<A: Actor>(
        on actor: A,
        perform:
            @escaping @Sendable (isolated A, _ old: ConnectionStatus, _ new: ConnectionStatus) ->
            Void
    ) -> Binding {
        bindStatus(on: .actor(actor)) { [weak actor] change in
            actor?.assumeIsolated { perform($0, change.old, change.new) }
        }
    }

    /// Calls `perform` on an executor with the old and the new status at each change.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called at each change.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onStatusChange(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (_ old: ConnectionStatus, _ new: ConnectionStatus) -> Void
    ) -> Binding {
        bindStatus(on: executor) { perform($0.old, $0.new) }
    }

    // MARK: Errors

    /// Calls `perform` on the caller's actor with each error that leaves the connection open.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called with each error, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onError(
        isolation: isolated any Actor,
        perform: @escaping (FanfareError) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return bindErrors(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor with each error that leaves the connection open.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor and each error, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onError<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, FanfareError) -> Void
    ) -> Binding {
        bindErrors(on: .actor(actor)) { [weak actor] error in
            actor?.assumeIsolated { perform($0, error) }
        }
    }

    /// Calls `perform` on an executor with each error that leaves the connection open.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called with each error.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onError(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        bindErrors(on: executor, perform)
    }
}
