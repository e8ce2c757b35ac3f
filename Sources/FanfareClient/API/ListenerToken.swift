import Primitives

/// The registration of a callback: ``cancel()`` ends the callback, releasing the token does not.
public final class ListenerToken: Sendable {
    private let active = Lock(true)
    /// Removes the callback from its listeners.
    private let unregister: @Sendable (ListenerToken) -> Void

    /// Creates the token of a callback; ``cancel()`` calls `unregister` once, which may release the callback.
    package init(unregister: @escaping @Sendable (ListenerToken) -> Void) {
        self.unregister = unregister
    }

    /// Whether the callback may still be called.
    package var isActive: Bool { active.load() }

    /// Ends the callback.
    ///
    /// On the actor of the callback (mostly the main actor), the callback is not called after this returns. From
    /// elsewhere, a call in progress may still finish, but no further call starts.
    public func cancel() {
        guard active.exchange(false) else { return }
        unregister(self)
    }
}
