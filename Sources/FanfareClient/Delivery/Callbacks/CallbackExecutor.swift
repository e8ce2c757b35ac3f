public import Dispatch

/// An executor for callbacks other than the main actor.
///
/// It runs them one at a time, in the order of events.
///
/// ```swift
/// channel.bind("addUser", on: .executor(databaseThread)) { event in … }
/// ```
///
/// Actors need none: bind a callback with `isolation: #isolation`, or `on:` the actor.
public struct CallbackExecutor: Sendable {
    private enum Kind: Sendable {
        case queue(DispatchQueue)
        case serial(ExecutorActor)
        case tasks(any TaskExecutor)
        case actor(ActorReference)
    }

    private let kind: Kind
    /// Equal for executors that share one callback queue.
    let id: ObjectIdentifier
    /// The executor's name in logs.
    let name: String

    private init(_ kind: Kind, of object: AnyObject, name: String) {
        self.kind = kind
        id = ObjectIdentifier(object)
        self.name = name
    }

    /// A serial dispatch queue.
    ///
    /// - Parameter queue: The queue. On a concurrent queue callbacks still run one at a time, but one may be in
    ///   progress when ``Binding/unbind()`` returns.
    /// - Returns: The executor.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor(.queue(queue), of: queue, name: "the queue \(queue.label)")
    }

    /// A serial executor, such as an actor's own or a thread.
    ///
    /// - Parameter executor: The executor, retained as long as a callback is bound to it.
    /// - Returns: The executor.
    public static func executor(_ executor: any SerialExecutor) -> CallbackExecutor {
        CallbackExecutor(
            .serial(ExecutorActor(executor)),
            of: executor,
            name: "the executor \(type(of: executor))"
        )
    }

    /// A task executor, such as a pool of threads.
    ///
    /// Callbacks run one at a time, on any thread of the executor. One may be in progress when ``Binding/unbind()``
    /// returns, unless a callback called it.
    ///
    /// - Parameter executor: The executor, retained as long as a callback is bound to it.
    /// - Returns: The executor.
    public static func taskExecutor(_ executor: any TaskExecutor) -> CallbackExecutor {
        CallbackExecutor(
            .tasks(executor),
            of: executor,
            name: "the task executor \(type(of: executor))"
        )
    }

    /// An actor, referenced weakly.
    static func actor(_ actor: any Actor) -> CallbackExecutor {
        // Shares its queue, and so the order, with callbacks bound without an executor.
        if actor === MainActor.shared { return .queue(.main) }
        return CallbackExecutor(
            .actor(ActorReference(actor: actor)),
            of: actor,
            name: "the actor \(type(of: actor))"
        )
    }

    /// Whether the executor can still run callbacks: an actor may have been deallocated.
    var isAlive: Bool {
        if case .actor(let reference) = kind { reference.actor != nil } else { true }
    }

    /// Schedules a block, unless the actor has been deallocated.
    ///
    /// - Returns: Whether it was scheduled.
    func run(_ block: @escaping @Sendable () -> Void) -> Bool {
        switch kind {
        case .queue(let queue): queue.async { block() }
        // Detached: the block must not inherit priority and task locals from the event's source.
        case .serial(let actor): Task.detached { await actor.run(block) }
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

/// A weak reference to the app's actor: the client must not extend its lifetime.
private struct ActorReference: Sendable {
    weak let actor: (any Actor)?
}

/// An actor without state that runs blocks on a given executor.
private actor ExecutorActor {
    private nonisolated let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: any SerialExecutor) { self.executor = executor }

    func run(_ block: @Sendable () -> Void) { block() }
}

/// A callback that is only called on one actor.
///
/// `@unchecked Sendable`, because it is created by a function isolated to the actor and called by blocks that a
/// ``CallbackExecutor`` runs on the same actor; in between it is only passed on.
struct ConfinedCallback<Value>: @unchecked Sendable {
    private let callback: (Value) -> Void

    /// Wraps a callback with the isolation of the caller's actor.
    init(of actor: isolated any Actor, _ callback: @escaping (Value) -> Void) {
        self.callback = callback
    }

    /// Calls the callback.
    ///
    /// To be called on the actor only.
    func callAsFunction(_ value: Value) { callback(value) }
}
