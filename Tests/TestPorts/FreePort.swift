import Glibc

/// A TCP port that nothing on 127.0.0.1 listens on, for a server that is told its port, as one that starts again.
///
/// It is below the ports that Linux gives to outgoing connections and to listeners on port 0 (32768 and more,
/// ip(7), `ip_local_port_range`): between this call and the server's start, or its second start, no other test
/// can be given it by the kernel.
package func freePort() -> UInt16 {
    while true {
        let port = UInt16.random(in: 20_000..<32_768)
        if isFree(port) { return port }
    }
}

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
