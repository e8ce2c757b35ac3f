import CLinux
import Glibc
import Synchronization

/// Reports changes of the machine's network interfaces, addresses and routes (rtnetlink(7)).
///
/// One thread of the process waits for them, from the first observer on. Changes that come together are reported once.
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

    private let state = Mutex(State())

    /// The time in which further changes are reported together, in milliseconds: an interface that comes up has several.
    private static let settlingTime: Int32 = 250

    /// Adds an observer.
    ///
    /// - Parameter changed: Called on the thread that waits for changes; must not block.
    /// - Returns: The observer, to be retained.
    /// - Throws: The call that failed: the process may not read routing messages, or has no descriptor left.
    package func observe(
        _ changed: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Observer {
        let observer = Observer(changed)
        try state.withLock { state throws(SystemError) in
            state.observers.removeAll { $0.observer == nil }
            state.observers.append(Reference(observer: observer))
            guard !state.isRunning else { return }
            let socket = try Self.makeSocket()
            try startThread { [self] in wait(on: socket) }
            state.isRunning = true
        }
        return observer
    }

    private static func makeSocket() throws(SystemError) -> Int32 {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(AF_NETLINK, type, NETLINK_ROUTE)
        _ = try SystemError.check(socket, "socket")
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE
                | RTMGRP_IPV6_ROUTE
        )
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        do throws(SystemError) {
            _ = try SystemError.check(bound, "bind")
        } catch {
            close(socket)
            throw error
        }
        return socket
    }

    /// Waits for changes as long as the process runs.
    private func wait(on socket: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            // ENOBUFS: messages were dropped, so something has changed.
            guard count > 0 || errno == EINTR || errno == ENOBUFS else { return }
            settle(socket, &buffer)
            for reference in state.withLock({ $0.observers }) { reference.observer?.changed() }
        }
    }

    private func settle(_ socket: Int32, _ buffer: inout [UInt8]) {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        while poll(&descriptor, 1, Self.settlingTime) > 0 {
            guard recv(socket, &buffer, buffer.count, 0) > 0 else { return }
        }
    }
}
