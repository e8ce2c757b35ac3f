/// A callback and the actor that it runs on.
package struct Callback<Value: Sendable>: Sendable {
    /// The actor, which the callback retains.
    let actor: any Actor
    private let body: @Sendable (isolated any Actor, Value) async -> Void

    /// Creates a callback that runs on the actor that the closure is isolated to, or on `other` if it is isolated to
    /// none.
    init(
        _ perform: @escaping @Sendable @isolated(any) (Value) -> Void,
        orElse other: any Actor
    ) {
        if let own = perform.isolation {
            actor = own
            // This runs on the closure's actor already, so the call does not suspend.
            body = { _, value in await perform(value) }
        } else {
            actor = other
            // A direct call would switch from the actor to the global executor and back. The type without isolation has
            // the same representation.
            let call = unsafeBitCast(perform, to: (@Sendable (Value) -> Void).self)
            body = { _, value in call(value) }
        }
    }

    /// Creates a callback that runs on an actor to which it is not isolated, such as a ``QueueActor``.
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

    /// Calls the callback on its own ``actor``, which the caller passes.
    func call(with value: Value, on actor: isolated any Actor) async { await body(actor, value) }

    /// Returns a callback for other values; it calls this one with each value that `transform` returns.
    func compactMap<Other>(
        _ transform: @escaping @Sendable (Other) -> Value?
    ) -> Callback<Other> {
        let body = body
        return Callback<Other>(on: actor) { actor, other in
            if let value = transform(other) { await body(actor, value) }
        }
    }

    /// Returns a callback for other values; it calls this one with each element that `transform` returns.
    func flatMap<Other>(
        _ transform: @escaping @Sendable (Other) -> [Value]
    ) -> Callback<Other> {
        let body = body
        return Callback<Other>(on: actor) { actor, other in
            for value in transform(other) { await body(actor, value) }
        }
    }
}
