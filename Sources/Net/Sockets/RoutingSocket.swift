import CLinux
import Glibc

/// A socket on which the kernel reports changes of interfaces, addresses and routes (rtnetlink(7)).
///
/// It is closed when released.
final class RoutingSocket: Sendable {
    /// The time in which further changes are reported together, in milliseconds; an interface that starts has several.
    private static let settlingTime: Int32 = 250

    private let descriptor: FileDescriptor

    /// Takes over a descriptor that reads routing messages.
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// Opens a socket for the changes of the calling thread's network.
    ///
    /// - Throws: The call that failed: the process may not read routing messages, or has no descriptor left.
    convenience init() throws(SystemError) {
        let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = try FileDescriptor(socket(AF_NETLINK, type, NETLINK_ROUTE), from: "socket")
        var address = sockaddr_nl()
        address.nl_family = sa_family_t(AF_NETLINK)
        address.nl_groups = UInt32(
            RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE
                | RTMGRP_IPV6_ROUTE
        )
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor.raw, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        _ = try SystemError.check(bound, "bind")
        self.init(descriptor)
    }

    /// Waits for a change, and a moment for those that follow it; false if the socket can no longer be read.
    func waitForChange() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        guard read(&buffer) else { return false }
        var readable = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        // A fault is found by the next wait; this change is reported first.
        while poll(&readable, 1, Self.settlingTime) > 0, read(&buffer) {}
        return true
    }

    /// Reads messages without parsing them.
    private func read(_ buffer: inout [UInt8]) -> Bool {
        while true {
            let count = recv(descriptor.raw, &buffer, buffer.count, 0)
            // ENOBUFS: messages were dropped, so something has changed.
            if count > 0 || (count < 0 && errno == ENOBUFS) { return true }
            guard count < 0, errno == EINTR else { return false }
        }
    }
}
