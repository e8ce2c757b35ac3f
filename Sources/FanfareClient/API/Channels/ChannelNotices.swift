extension Channel {
    /// Calls `perform` with each new number of subscribed connections, if the broker reports it.
    ///
    /// - Parameter perform: Called in the order of the changes, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onSubscriptionCount(
        @_inheritActorContext perform: @escaping @Sendable @isolated(any) (Int) -> Void
    ) -> ListenerToken {
        let callback = Callback(perform, orElse: client.callbackActor)
            .compactMap { (event: ChannelEvent) in
                event.data.flatMap(JSONMembers.init)?.identifier("subscription_count")
                    .flatMap { Int($0) }
            }
        let topic = Topic(channel: name, event: "pusher:subscription_count")
        return client.add(callback, to: \.events.callbacks[topic])
    }

    /// Calls `perform` when the cache of a cache channel is empty.
    ///
    /// Then fetch the state from the app's backend. The event `pusher:cache_miss` reports the same.
    ///
    /// - Parameter perform: Called after each subscription that finds the cache empty.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onCacheMiss(
        @_inheritActorContext perform: @escaping @Sendable @isolated(any) () -> Void
    ) -> ListenerToken {
        let callback = Callback(perform, orElse: client.callbackActor)
            .compactMap { (_: ChannelEvent) in () }
        let topic = Topic(channel: name, event: "pusher:cache_miss")
        return client.add(callback, to: \.events.callbacks[topic])
    }
}
