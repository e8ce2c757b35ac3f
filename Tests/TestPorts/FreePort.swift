import Glibc
import Synchronization

/// A TCP port that nothing on 127.0.0.1 listens on, for a server that is told its port, as one that starts again.
///
/// It is below the ports that Linux gives to outgoing connections and to listeners on port 0 (32768 and more,
/// ip(7), `ip_local_port_range`): between this call and the server's start, or its second start, no other test
/// can be given it by the kernel.
///
/// No two calls in a process get the same one: a port that is free here is not yet that of the server to which it was given.
package func freePort() -> UInt16 {
    givenPorts.withLock { given in
        while true {
            let port = UInt16.random(in: portRange)
            // Of more than half of all, some were given so long ago that they are free again.
            if given.count > portRange.count / 2 { given = [] }
            if !given.contains(port), isFree(port) {
                given.insert(port)
                return port
            }
        }
    }
}

private let portRange: Range<UInt16> = 20_000..<32_768
private let givenPorts = Mutex<Set<UInt16>>([])

private func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    precondition(descriptor >= 0, "socket: errno \(errno)")
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
