// Callbacks elsewhere than on the main actor or a queue.
extension FanfareClient {
    // MARK: Events of all channels

    /// Calls back on the actor that this is called from, for each event of a name on any channel.
    ///
    /// As ``Channel/bind(_:isolation:perform:)-(String?,_,_)``.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in the order of the events, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        isolation: isolated any Actor,
        perform: @escaping (ChannelEvent) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return bind(event, on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor for each event of a name, on whatever channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in the order of the events, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
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

    /// Calls back on an executor for each event of a name, on whatever channel.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - place: The executor.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on place: CallbackExecutor,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        bind(Topic(event: event), on: place, perform)
    }

    // MARK: Status

    /// Calls back with the old and the new status, on the actor that this is called from.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called at each change, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onStatusChange(
        isolation: isolated any Actor,
        perform: @escaping (_ old: ConnectionStatus, _ new: ConnectionStatus) -> Void
    ) -> Binding {
        let callback = ConfinedCallback<StatusChange>(of: isolation) { perform($0.old, $0.new) }
        return bindStatus(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back with the old and the new status at each change, on an actor.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor at each change, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
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

    /// Calls back with the old and the new status at each change, on an executor.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called at each change.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onStatusChange(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (_ old: ConnectionStatus, _ new: ConnectionStatus) -> Void
    ) -> Binding {
        bindStatus(on: place) { perform($0.old, $0.new) }
    }

    // MARK: Faults

    /// Calls back with what goes wrong while the connection goes on, on the actor that this is called from.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called with each error, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onError(
        isolation: isolated any Actor,
        perform: @escaping (FanfareError) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return bindErrors(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back with what goes wrong while the connection goes on, on an actor.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor and each error, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onError<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, FanfareError) -> Void
    ) -> Binding {
        bindErrors(on: .actor(actor)) { [weak actor] error in
            actor?.assumeIsolated { perform($0, error) }
        }
    }

    /// Calls back with what goes wrong while the connection goes on, on an executor.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called with each error.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onError(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (FanfareError) -> Void
    ) -> Binding {
        bindErrors(on: place, perform)
    }
}
