// Callbacks elsewhere than on the main actor or a queue.
extension User {
    /// Calls back on the actor that this is called from, for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in that order, until the actor is gone.
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

    /// Calls back on an actor, for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
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

    /// Calls back on an executor, for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - place: The executor.
    ///   - perform: Called in that order.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        on place: CallbackExecutor,
        perform: @escaping @Sendable (ChannelEvent) -> Void
    ) -> Binding {
        client.bind(Topic(channel: Topic.user, event: event), on: place, perform)
    }

    /// Calls back on the actor that this is called from, with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onWatchlistChange(
        isolation: isolated any Actor,
        perform: @escaping (WatchlistChange) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onWatchlistChange(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor, with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onWatchlistChange<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, WatchlistChange) -> Void
    ) -> Binding {
        onWatchlistChange(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls back on an executor, with every change of the watchlist.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called in that order.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onWatchlistChange(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (WatchlistChange) -> Void
    ) -> Binding {
        client.add(to: \.watchlists, on: place, perform)
    }
}

extension FanfareClient {
    /// Calls back on the actor that this is called from, each time that the broker has learnt who the user is.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onSignIn(
        isolation: isolated any Actor,
        perform: @escaping (SignedInUser) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onSignIn(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor, each time that the broker has learnt who the user is.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onSignIn<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, SignedInUser) -> Void
    ) -> Binding {
        onSignIn(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls back on an executor, each time that the broker has learnt who the user is.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called in that order.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onSignIn(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (SignedInUser) -> Void
    ) -> Binding {
        add(to: \.signIns, on: place, perform)
    }
}
