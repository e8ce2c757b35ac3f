/// A callback that belongs to one actor and is called there alone.
///
/// `@unchecked Sendable`, because it is made by a function that is isolated to the actor, and called
/// from blocks that a ``CallbackExecutor`` runs on that same actor; in between it is only passed on.
struct ConfinedCallback<Value>: @unchecked Sendable {
    private let callback: (Value) -> Void

    /// Takes a callback whose isolation is that of the caller's actor.
    init(of actor: isolated any Actor, _ callback: @escaping (Value) -> Void) {
        self.callback = callback
    }

    /// Calls back; only on the actor.
    func callAsFunction(_ value: Value) { callback(value) }
}
