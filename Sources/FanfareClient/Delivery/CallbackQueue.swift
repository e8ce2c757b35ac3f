import Primitives

/// The waiting callback calls of one actor, in order.
///
/// Calls are scheduled in blocks: a burst of events costs one task instead of one per event. Blocks are bounded so that
/// the main actor can draw between them.
final class CallbackQueue: EventReader {
    private struct Call: Sendable {
        let token: ListenerToken
        let bytes: Int
        /// Released when the call has returned or was skipped.
        var handling: Handling?
        let run: @Sendable (isolated any Actor) async -> Void
    }

    private struct State {
        var calls: [Call] = []
        var load = Load()
        var isScheduled = false
    }

    /// The most calls in one block.
    private static let callsPerBlock = 256

    private let actor: any Actor
    private let pending: PendingCallbacks
    private let state = Lock(State())
    /// Called on the actor after each block, with the remaining load.
    private let drained: @Sendable (Load) -> Void

    init(
        of actor: any Actor,
        counting pending: PendingCallbacks,
        drained: @escaping @Sendable (Load) -> Void
    ) {
        self.actor = actor
        self.pending = pending
        self.drained = drained
    }

    /// The actor's name in logs.
    var name: String { "the actor \(type(of: actor))" }

    /// The identity of the actor; all its callbacks share this queue.
    var id: ObjectIdentifier { ObjectIdentifier(actor) }

    /// Adds a call for a token; the call is skipped if the token is cancelled first.
    ///
    /// - Parameters:
    ///   - token: The callback's token.
    ///   - bytes: The approximate memory of the call.
    ///   - handling: Retained until the call has returned or was skipped.
    ///   - run: The call.
    /// - Returns: The load of the queue with this call.
    func post(
        for token: ListenerToken,
        bytes: Int,
        retaining handling: Handling? = nil,
        _ run: @escaping @Sendable (isolated any Actor) async -> Void
    ) -> Load {
        pending.add(1)
        let (load, isNew) = state.withLock { state in
            state.calls.append(Call(token: token, bytes: bytes, handling: handling, run: run))
            state.load.count += 1
            state.load.bytes += bytes
            return (state.load, !exchange(&state.isScheduled, with: true))
        }
        if isNew { schedule() }
        return load
    }

    private func schedule() {
        // Detached: the calls must not inherit priority and task locals from the event's source.
        Task.detached { await self.runBlock(on: self.actor) }
    }

    private func runBlock(on actor: isolated any Actor) async {
        var calls = state.withLock { state in
            let calls = Array(state.calls.prefix(Self.callsPerBlock))
            state.calls.removeFirst(calls.count)
            return calls
        }
        for index in calls.indices {
            if calls[index].token.isActive { await calls[index].run(actor) }
            calls[index].handling = nil
        }
        let (load, isMore) = state.withLock { state in
            state.load.count -= calls.count
            state.load.bytes -= calls.reduce(0) { $0 + $1.bytes }
            state.isScheduled = !state.calls.isEmpty
            return (state.load, state.isScheduled)
        }
        if isMore { schedule() }
        drained(load)
        // Last: calls that `drained` schedules belong to this block.
        pending.remove(calls.count)
    }
}

/// A reader of events: the callbacks of one actor, or one iterator of a sequence.
protocol EventReader: AnyObject, Sendable {
    /// The identity by which the reader reports that it has caught up.
    var id: ObjectIdentifier { get }
    /// The name in logs.
    var name: String { get }
}

/// A reader of one channel's events, which can receive a gap instead of them.
protocol SequenceReader: EventReader {
    /// The number of unread elements.
    var unreadCount: Int { get }
    /// Replaces the unread elements by a gap, unless the sequence has ended.
    func dropUnread()
}

/// The number and the size of the events that wait for one reader.
struct Load: Equatable {
    var count = 0
    var bytes = 0
}

/// A client's callback queues by actor, referenced weakly: a queue without callbacks is deallocated.
struct CallbackQueues: Sendable {
    private struct Reference: Sendable {
        weak let queue: CallbackQueue?
    }

    /// The calls of all queues.
    let pending = PendingCallbacks()
    private var queues: [ObjectIdentifier: Reference] = [:]

    /// Returns the queue of an actor; the caller must retain it.
    ///
    /// All callbacks of the actor share the queue, so they run in one order.
    ///
    /// - Parameters:
    ///   - actor: The actor.
    ///   - drained: Called after each block with the remaining load; unused if the queue exists.
    /// - Returns: The queue.
    mutating func queue(
        of actor: any Actor,
        drained: @escaping @Sendable (Load) -> Void
    ) -> CallbackQueue {
        if let known = queues[ObjectIdentifier(actor)]?.queue { return known }
        queues = queues.filter { $0.value.queue != nil }
        let new = CallbackQueue(of: actor, counting: pending, drained: drained)
        queues[new.id] = Reference(queue: new)
        return new
    }
}
