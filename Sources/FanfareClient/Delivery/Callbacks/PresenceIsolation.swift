// Callbacks on other executors than the main actor and dispatch queues.
extension PresenceChannel {
    /// Calls `perform` on the caller's actor with every change, the first list included.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange(
        isolation: isolated any Actor,
        perform: @escaping (PresenceChange) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onChange(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor with every change, the first list included.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor, in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, PresenceChange) -> Void
    ) -> Binding {
        onChange(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls `perform` on an executor with every change, the first list included.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called in order.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (PresenceChange) -> Void
    ) -> Binding {
        channel.client.onPresence(channel.name, on: executor, perform)
    }

    /// Calls `perform` on the caller's actor for each user who joins; not for the first list.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onJoin(
        isolation: isolated any Actor,
        perform: @escaping (PresenceMember) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onJoin(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor for each user who joins; not for the first list.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor, in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onJoin<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, PresenceMember) -> Void
    ) -> Binding {
        onJoin(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls `perform` on an executor for each user who joins; not for the first list.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called in order.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onJoin(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: executor) { change in for member in change.joined { perform(member) } }
    }

    /// Calls `perform` on the caller's actor for each user who leaves.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onLeave(
        isolation: isolated any Actor,
        perform: @escaping (PresenceMember) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onLeave(on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor for each user who leaves.
    ///
    /// - Parameters:
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor, in order, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onLeave<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, PresenceMember) -> Void
    ) -> Binding {
        onLeave(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls `perform` on an executor for each user who leaves.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called in order.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onLeave(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: executor) { change in for member in change.left { perform(member) } }
    }
}
