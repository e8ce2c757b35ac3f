// Callbacks elsewhere than on the main actor or a queue.
extension PresenceChannel {
    /// Calls back on the actor that this is called from, with every change, the first list included.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange(
        isolation: isolated any Actor,
        perform: @escaping (PresenceChange) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onChange(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor, with every change, the first list included.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, PresenceChange) -> Void
    ) -> Binding {
        onChange(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls back on an executor, with every change, the first list included.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called in that order.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (PresenceChange) -> Void
    ) -> Binding {
        channel.client.onPresence(channel.name, on: place, perform)
    }

    /// Calls back on the actor that this is called from, for each user who comes; not for those who were there before.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onJoin(
        isolation: isolated any Actor,
        perform: @escaping (PresenceMember) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onJoin(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor, for each user who comes; not for those who were there before.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onJoin<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, PresenceMember) -> Void
    ) -> Binding {
        onJoin(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls back on an executor, for each user who comes; not for those who were there before.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called in that order.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onJoin(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: place) { change in for member in change.joined { perform(member) } }
    }

    /// Calls back on the actor that this is called from, for each user who goes.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onLeave(
        isolation: isolated any Actor,
        perform: @escaping (PresenceMember) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return onLeave(on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor, for each user who goes.
    ///
    /// - Parameters:
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in that order, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onLeave<A: Actor>(
        on actor: A,
        perform: @escaping @Sendable (isolated A, PresenceMember) -> Void
    ) -> Binding {
        onLeave(on: .actor(actor)) { [weak actor] value in
            actor?.assumeIsolated { perform($0, value) }
        }
    }

    /// Calls back on an executor, for each user who goes.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called in that order.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onLeave(
        on place: CallbackExecutor,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: place) { change in for member in change.left { perform(member) } }
    }
}
