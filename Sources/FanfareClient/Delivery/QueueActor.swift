package import Dispatch

/// The actor of callbacks that are isolated to no actor: they run one at a time, off the main actor.
actor CallbackActor {}

/// An actor that runs on a serial dispatch queue.
package actor QueueActor {
    private nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: executor)
    }

    private init(_ queue: DispatchQueue) { executor = QueueExecutor(queue) }

    /// Returns the actor on which callbacks of a serial queue run in one order; the main actor for the main queue.
    package static func actor(on queue: DispatchQueue) -> any Actor {
        queue.isMain ? MainActor.shared : QueueActor(queue)
    }
}

extension DispatchQueue {
    /// Whether this is the main queue.
    package var isMain: Bool {
        // On Linux each read of `DispatchQueue.main` returns a new object for the same queue.
        self === DispatchQueue.main || label == DispatchQueue.main.label
    }
}

private final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue) { self.queue = queue }

    #if canImport(Darwin)
        // `ExecutorJob` is there from iOS 17 and macOS 14 on.
        func enqueue(_ job: UnownedJob) { run(job) }
    #else
        func enqueue(_ job: consuming ExecutorJob) { run(UnownedJob(job)) }
    #endif

    private func run(_ job: UnownedJob) {
        queue.async { job.runSynchronously(on: UnownedSerialExecutor(ordinary: self)) }
    }
}
