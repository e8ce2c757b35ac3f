public import Dispatch

/// Where callbacks run, other than on the main actor: one after the other, in the order of events.
///
/// ```swift
/// channel.bind("addUser", on: .executor(databaseThread)) { event in … }
/// ```
///
/// An actor needs no place: a callback that is bound with `isolation: #isolation`, or `on:` the
/// actor, has its isolation.
public struct CallbackExecutor: Sendable {
    private enum Kind: Sendable {
        case queue(DispatchQueue)
        case serial(ExecutorSeat)
        case tasks(any TaskExecutor)
        case actor(ActorReference)
    }

    private let kind: Kind
    /// The same for two places of one order.
    let id: ObjectIdentifier
    /// What a log calls the place.
    let name: String

    private init(_ kind: Kind, of object: AnyObject, name: String) {
        self.kind = kind
        id = ObjectIdentifier(object)
        self.name = name
    }

    /// A serial dispatch queue.
    ///
    /// - Parameter queue: The queue. On a concurrent one callbacks still run one after the other, but one
    ///   may have begun when ``Binding/unbind()`` returns.
    /// - Returns: The place.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor(.queue(queue), of: queue, name: "the queue \(queue.label)")
    }

    /// A serial executor, such as an actor's own or a thread.
    ///
    /// - Parameter executor: The executor, kept alive as long as a callback is bound to it.
    /// - Returns: The place.
    public static func executor(_ executor: any SerialExecutor) -> CallbackExecutor {
        CallbackExecutor(
            .serial(ExecutorSeat(executor)),
            of: executor,
            name: "the executor \(type(of: executor))"
        )
    }

    /// A task executor, such as a pool of threads.
    ///
    /// Callbacks run one after the other, each on whichever of the threads is free: one may have
    /// begun when ``Binding/unbind()`` returns, unless it was called by a callback.
    ///
    /// - Parameter executor: The executor, kept alive as long as a callback is bound to it.
    /// - Returns: The place.
    public static func taskExecutor(_ executor: any TaskExecutor) -> CallbackExecutor {
        CallbackExecutor(
            .tasks(executor),
            of: executor,
            name: "the task executor \(type(of: executor))"
        )
    }

    /// An actor, which the place does not keep alive.
    static func actor(_ actor: any Actor) -> CallbackExecutor {
        // One order with the callbacks that are bound without a place.
        if actor === MainActor.shared { return .queue(.main) }
        return CallbackExecutor(
            .actor(ActorReference(actor: actor)),
            of: actor,
            name: "the actor \(type(of: actor))"
        )
    }

    /// Whether anything can still run here: an actor may be gone.
    var isThere: Bool {
        if case .actor(let reference) = kind { reference.actor != nil } else { true }
    }

    /// Has a block of calls run here soon, and nowhere if the place is gone.
    ///
    /// - Returns: Whether it will run.
    func run(_ block: @escaping @Sendable () -> Void) -> Bool {
        switch kind {
        case .queue(let queue): queue.async { block() }
        // Detached: what a task inherits is of the one who happened to bring the event.
        case .serial(let seat): Task.detached { await seat.run(block) }
        case .tasks(let executor): Task.detached(executorPreference: executor) { block() }
        case .actor(let reference):
            guard let actor = reference.actor else { return false }
            Task.detached { await Self.run(block, on: actor) }
        }
        return true
    }

    private static func run(_ block: @Sendable () -> Void, on actor: isolated any Actor) {
        block()
    }
}

/// An actor whose owner is its app: who binds `[weak self]` callbacks does not expect a client to keep it.
private struct ActorReference: Sendable {
    weak let actor: (any Actor)?
}

/// An actor without state of its own, by which blocks get onto somebody's executor.
private actor ExecutorSeat {
    private nonisolated let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: any SerialExecutor) { self.executor = executor }

    func run(_ block: @Sendable () -> Void) { block() }
}
