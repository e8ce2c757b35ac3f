// Callbacks on other executors than the main actor and dispatch queues.
extension User {
    /// Calls `perform` on the caller's actor for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in order, until the actor is deallocated.
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

    /// Calls `perform` on an actor for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor, in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind<A: Actor>(
        _ event: String? = nil,
        on actor: A,
        perform: @escaping @Sendable (isolated A, ChannelEvent) -> Void
    ) -> Binding {
        bind(event, on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls `perform` on an executor for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - executor: The executor.
    ///   - perform: Called in order.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        client.bind(Topic(channel: Topic.user, event: event), on: executor, perform)
    }

    /// Calls `perform` on the caller's actor with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onWatchlistChange(
        isolation: isolated any Actor,
        perform: @escaping (WatchlistChange) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onWatchlistChange(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor, in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onWatchlistChange<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, WatchlistChange) -> Void
    ) -> Binding {
        onWatchlistChange(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls `perform` on an executor with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called in order.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onWatchlistChange(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (WatchlistChange) -> Void
    ) -> Binding {
        client.add(to: \.watchlists, on: executor, perform)
    }
}

extension FanfareClient {
    /// Calls `perform` on the caller's actor after each successful sign-in.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onSignIn(
        isolation: isolated any Actor,
        perform: @escaping (SignedInUser) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onSignIn(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor after each successful sign-in.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor, in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onSignIn<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, SignedInUser) -> Void
    ) -> Binding {
        onSignIn(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls `perform` on an executor after each successful sign-in.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called in order.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onSignIn(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (SignedInUser) -> Void
    ) -> Binding {
        add(to: \.signIns, on: executor, perform)
    }
}
