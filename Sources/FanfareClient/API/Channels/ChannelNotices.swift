public import Dispatch

extension Channel {
    /// Calls `perform` on the main actor with each new number of subscribed connections, if the broker reports it.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onSubscriptionCount(
        perform: @escaping @MainActor @Sendable (Int) -> Void
    ) -> Binding {
        onSubscriptionCount(on: .main) { count in MainActor.assumeIsolated { perform(count) } }
    }

    /// Calls `perform` on a serial queue with each new number of subscribed connections, if the broker reports it.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onSubscriptionCount(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (Int) -> Void
    ) -> Binding {
        bind("pusher:subscription_count", on: queue) { event in
            guard
                let count = event.data.flatMap(JSONMembers.init)?.identifier("subscription_count"),
                let number = Int(count)
            else { return }
            perform(number)
        }
    }

    /// Calls `perform` on the main actor when the cache of a cache channel is empty.
    ///
    /// Fetch the state from the app's backend then. The event `pusher:cache_miss` reports the same.
    ///
    /// - Parameter perform: Called after each subscription that finds the cache empty.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onCacheMiss(perform: @escaping @MainActor @Sendable () -> Void) -> Binding {
        onCacheMiss(on: .main) { MainActor.assumeIsolated { perform() } }
    }

    /// Calls `perform` on a serial queue when the cache of a cache channel is empty.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called after each subscription that finds the cache empty.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onCacheMiss(
        on queue: DispatchQueue,
        perform: @escaping @Sendable () -> Void
    ) -> Binding {
        bind("pusher:cache_miss", on: queue) { _ in perform() }
    }
}
