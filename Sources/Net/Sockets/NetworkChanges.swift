import Glibc
import Synchronization

/// Reports changes of the machine's network interfaces, addresses and routes.
///
/// One thread of the process waits for them, from the first observer on. Changes within a short time are reported once.
/// If its socket can no longer be read, the thread opens another one and reports that as a change.
package final class NetworkChanges: Sendable {
    /// The changes of this machine.
    package static let shared = NetworkChanges()

    /// An observer, which is called until it is released.
    package final class Observer: Sendable {
        fileprivate let changed: @Sendable () -> Void

        fileprivate init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }
    }

    private struct Reference: Sendable {
        weak let observer: Observer?
    }

    private struct State {
        var observers: [Reference] = []
        var isRunning = false
    }

    /// The system calls that tests replace.
    struct System: Sendable {
        /// Opens a socket.
        var openSocket: @Sendable () throws(SystemError) -> RoutingSocket = {
            () throws(SystemError) in try RoutingSocket()
        }
        /// Starts a thread.
        var start: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void = {
            (body) throws(SystemError) in try startThread(body)
        }
        /// The time between a failure and the attempt to open another socket, in microseconds.
        var reopenDelay: UInt32 = 1_000_000
    }

    private let system: System
    private let state = Mutex(State())

    init(_ system: System = System()) { self.system = system }

    /// Adds an observer.
    ///
    /// - Parameter changed: Called on the thread that waits for changes; must not block.
    /// - Returns: The observer, to be retained.
    /// - Throws: The call that failed: the process may not read routing messages, or has no descriptor or thread left.
    package func observe(
        _ changed: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Observer {
        let observer = Observer(changed)
        try state.withLock { state throws(SystemError) in
            state.observers.removeAll { $0.observer == nil }
            state.observers.append(Reference(observer: observer))
            guard !state.isRunning else { return }
            let socket = try system.openSocket()
            try system.start { [weak self] in Self.run(socket) { self } }
            state.isRunning = true
        }
        return observer
    }

    /// Waits for changes until the first one after the object was released.
    private static func run(_ first: RoutingSocket, for changes: () -> NetworkChanges?) {
        var socket: RoutingSocket? = first
        while true {
            if socket?.waitForChange() != true {
                // Closed before another one is opened: there may be no descriptor left.
                socket = nil
                socket = changes()?.reopenSocket()
            }
            guard let changes = changes() else { return }
            if socket != nil { changes.notify() }
        }
    }

    /// Opens another socket after a delay; `nil` if that fails.
    private func reopenSocket() -> RoutingSocket? {
        usleep(system.reopenDelay)
        return try? system.openSocket()
    }

    private func notify() {
        for reference in state.withLock({ $0.observers }) { reference.observer?.changed() }
    }
}
