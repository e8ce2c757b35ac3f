// Callbacks elsewhere than on the main actor or a queue.
extension Channel {
    // MARK: Events as they are

    /// Calls back on the actor that this is called from, for each event of a name.
    ///
    /// ```swift
    /// @DatabaseActor func listen(to channel: Channel) {
    ///     channel.bind("addUser", isolation: #isolation) { event in rows.append(event) }
    /// }
    /// ```
    ///
    /// The callback has the isolation of the function around it, a global actor's or an actor's:
    /// it reads and writes what is there without `await`, and need not be `Sendable`.
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

    /// Calls back on an actor for each event of a name.
    ///
    /// ```swift
    /// channel.bind("addUser", on: store) { store, event in store.add(event) }
    /// ```
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

    /// Calls back on an executor for each event of a name.
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
        client.bind(Topic(channel: name, event: event), on: place, perform)
    }

    // MARK: Decoded

    /// Calls back on the actor that this is called from, with the decoded data of each event.
    ///
    /// As ``bind(_:isolation:perform:)-(String?,_,_)``. Data that is no `Payload` goes to
    /// ``FanfareClient/onError(perform:)`` instead.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in the order of the events, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        isolation: isolated any Actor,
        perform: @escaping (Payload) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return bind(event, on: .actor(isolation)) { callback($0) }
    }

    /// Calls back on an actor with the decoded data of each event of a name.
    ///
    /// Data that is no `Payload` goes to ``FanfareClient/onError(perform:)`` instead.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - actor: The actor; the binding does not keep it alive.
    ///   - perform: Called with the actor in the order of the events, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind<Payload, A: Actor>(
        _ event: EventName<Payload>,
        on actor: A,
        perform: @escaping @Sendable (isolated A, Payload) -> Void
    ) -> Binding {
        bind(event, on: .actor(actor)) { [weak actor] payload in
            actor?.assumeIsolated { perform($0, payload) }
        }
    }

    /// Calls back on an executor with the decoded data of each event of a name.
    ///
    /// Data that is no `Payload` goes to ``FanfareClient/onError(perform:)`` instead.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - place: The executor.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        on place: CallbackExecutor,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding {
        bind(event.text, on: place) { [weak client] event in
            do throws(FanfareError) {
                perform(try event.decode())
            } catch {
                client?.report(error)
            }
        }
    }
}
