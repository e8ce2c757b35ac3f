import Synchronization

/// A callback's place on an event; keep it to be able to unbind.
///
/// A binding lives until it is unbound: letting go of this value changes nothing.
public final class Binding: Sendable {
    private let active = Atomic(true)
    /// What waits where the callback runs, which is where ``unbind()`` takes effect at once.
    let queue: CallbackQueue
    /// Where the binding is registered.
    private let unregister: @Sendable (Binding) -> Void

    init(queue: CallbackQueue, unregister: @escaping @Sendable (Binding) -> Void) {
        self.queue = queue
        self.unregister = unregister
    }

    /// Whether the callback may still be called.
    public var isActive: Bool { active.load(ordering: .acquiring) }

    /// Ends the binding.
    ///
    /// Called where the callback runs (on the main actor, unless another actor, a queue or a serial
    /// executor was chosen), nothing is delivered once this returns. Called from elsewhere, a call
    /// that has begun may still run, but no other begins.
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
