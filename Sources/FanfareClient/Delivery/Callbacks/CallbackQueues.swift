/// The queues of a client's callbacks, by place; those that nothing is bound to go by themselves.
struct CallbackQueues: Sendable {
    private struct Reference: Sendable {
        weak let queue: CallbackQueue?
    }

    private var queues: [ObjectIdentifier: Reference] = [:]

    /// The queue of a place, so that all callbacks there have one order.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - drained: Told what is still waiting after a block of calls, if the queue is a new one.
    /// - Returns: The queue, for as long as somebody keeps it.
    mutating func queue(
        at place: CallbackExecutor,
        drained: @escaping @Sendable (CallbackQueue.Load) -> Void
    ) -> CallbackQueue {
        // An actor that is gone may have left its identity to a new one.
        if let known = queues[place.id]?.queue, known.place.isThere { return known }
        queues = queues.filter { $0.value.queue != nil }
        let new = CallbackQueue(place, drained: drained)
        queues[place.id] = Reference(queue: new)
        return new
    }
}
