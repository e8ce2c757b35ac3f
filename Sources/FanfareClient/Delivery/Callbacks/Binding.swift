import Synchronization

/// The registration of a callback.
///
/// It lasts until ``unbind()``; discarding this value changes nothing.
public final class Binding: Sendable {
    private let active = Atomic(true)
    /// The queue of the callback's executor; ``unbind()`` called there takes effect at once.
    let queue: CallbackQueue
    /// Removes the binding from its listeners.
    private let unregister: @Sendable (Binding) -> Void

    init(queue: CallbackQueue, unregister: @escaping @Sendable (Binding) -> Void) {
        self.queue = queue
        self.unregister = unregister
    }

    /// Whether the callback may still be called.
    public var isActive: Bool { active.load(ordering: .acquiring) }

    /// Unregisters the callback.
    ///
    /// If this is called on the callback's executor (by default the main actor), the callback is not called after this
    /// returns. If it is called elsewhere, a call in progress may still finish, but no other starts.
    public func unbind() {
        guard active.exchange(false, ordering: .acquiringAndReleasing) else { return }
        unregister(self)
    }
}

extension Binding: Hashable {
    /// Whether both are the same binding.
    public static func == (left: Binding, right: Binding) -> Bool { left === right }

    /// Hashes the binding's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
