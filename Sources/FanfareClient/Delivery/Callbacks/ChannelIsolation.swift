// Callbacks on other executors than the main actor and dispatch queues.
extension Channel {
    // MARK: Events

    /// Calls `perform` on the caller's actor for each event with this name.
    ///
    /// ```swift
    /// @DatabaseActor func listen(to channel: Channel) {
    ///     channel.bind("addUser", isolation: #isolation) { event in rows.append(event) }
    /// }
    /// ```
    ///
    /// The callback has the isolation of the calling function, an actor's or a global actor's: it uses that actor's
    /// state without `await`, and need not be `Sendable`.
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

    /// Calls `perform` on an actor for each event with this name.
    ///
    /// ```swift
    /// channel.bind("addUser", on: store) { store, event in store.add(event) }
    /// ```
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

    /// Calls `perform` on an executor for each event with this name.
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
        client.bind(Topic(channel: name, event: event), on: executor, perform)
    }

    // MARK: Decoded events

    /// Calls `perform` on the caller's actor with the decoded data of each event.
    ///
    /// As ``bind(_:isolation:perform:)-(String?,_,_)``. Data that cannot be decoded as `Payload` is reported to
    /// ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in the order of the events, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        isolation: isolated any Actor,
        perform: @escaping (Payload) -> Void
    ) -> Binding {
        let callback = ConfinedCallback(of: isolation, perform)
        return bind(event, on: .actor(isolation)) { callback($0) }
    }

    /// Calls `perform` on an actor with the decoded data of each event with this name.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - actor: The actor, referenced weakly.
    ///   - perform: Called with the actor in the order of the events, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
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

    /// Calls `perform` on an executor with the decoded data of each event with this name.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - executor: The executor.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding {
        bind(event.text, on: executor) { [weak client] event in
            do throws(FanfareError) {
                perform(try event.decode())
            } catch {
                client?.report(error)
            }
        }
    }
}
