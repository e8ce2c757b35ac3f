public import Dispatch

extension Channel {
    /// Calls back on the main actor with each new number of subscriptions, where the broker tells.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onSubscriptionCount(
        perform: @escaping @MainActor @Sendable (Int) -> Void
    ) -> Binding {
        onSubscriptionCount(on: .main) { count in MainActor.assumeIsolated { perform(count) } }
    }

    /// Calls back on a serial queue with each new number of subscriptions, where the broker tells.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
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

    /// Calls back on the main actor when a cache channel has no event to begin with.
    ///
    /// That is the time to fetch the state from the app's backend. The same arrives as the event `pusher:cache_miss`.
    ///
    /// - Parameter perform: Called after each subscription that finds the cache empty.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onCacheMiss(perform: @escaping @MainActor @Sendable () -> Void) -> Binding {
        onCacheMiss(on: .main) { MainActor.assumeIsolated { perform() } }
    }

    /// Calls back on a serial queue when a cache channel has no event to begin with.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called after each subscription that finds the cache empty.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onCacheMiss(
        on queue: DispatchQueue,
        perform: @escaping @Sendable () -> Void
    ) -> Binding {
        bind("pusher:cache_miss", on: queue) { _ in perform() }
    }
}
