/// A callback, and the actor that it runs on.
package struct Callback<Value: Sendable>: Sendable {
    /// The actor, which the callback retains.
    let actor: any Actor
    private let body: @Sendable (isolated any Actor, Value) async -> Void

    /// Creates a callback from a closure of an app.
    ///
    /// - Parameters:
    ///   - perform: The closure, which runs on the actor that it is isolated to.
    ///   - other: The actor for a closure that is isolated to none.
    init(
        _ perform: @escaping @Sendable @isolated(any) (Value) -> Void,
        orElse other: any Actor
    ) {
        if let own = perform.isolation {
            actor = own
            // Already on the closure's actor, so it does not suspend.
            body = { _, value in await perform(value) }
        } else {
            actor = other
            // Called as it is, the closure would leave the actor for the global executor and come back. The type without
            // isolation has the same representation.
            let call = unsafeBitCast(perform, to: (@Sendable (Value) -> Void).self)
            body = { _, value in call(value) }
        }
    }

    /// Creates a callback that runs on an actor which it is not isolated to, such as a ``QueueActor``.
    package init(on actor: any Actor, _ perform: @escaping @Sendable (Value) -> Void) {
        self.actor = actor
        body = { _, value in perform(value) }
    }

    private init(
        on actor: any Actor,
        body: @escaping @Sendable (isolated any Actor, Value) async -> Void
    ) {
        self.actor = actor
        self.body = body
    }

    /// Calls the callback.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - actor: The callback's ``actor``.
    func call(with value: Value, on actor: isolated any Actor) async { await body(actor, value) }

    /// Returns a callback for other values, which calls this one with each value that `transform` returns.
    func compactMap<Other>(
        _ transform: @escaping @Sendable (Other) -> Value?
    ) -> Callback<Other> {
        let body = body
        return Callback<Other>(on: actor) { actor, other in
            if let value = transform(other) { await body(actor, value) }
        }
    }

    /// Returns a callback for other values, which calls this one with each element that `transform` returns.
    func flatMap<Other>(
        _ transform: @escaping @Sendable (Other) -> [Value]
    ) -> Callback<Other> {
        let body = body
        return Callback<Other>(on: actor) { actor, other in
            for value in transform(other) { await body(actor, value) }
        }
    }
}
