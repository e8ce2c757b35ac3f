import Foundation
import Synchronization
import Testing

/// Forwards one connection to a server, until a whole request has passed; then it forwards the server's bytes one at a
/// time.
final class DrippingForwarder: Sendable {
    /// The minimum length of a request, in bytes: more than everything before it.
    static let requestLengthMin = 4_096

    private final class Shared: Sendable {
        let dripCount = Atomic(0)
        /// The bytes that the client has sent.
        let requestLength = Atomic(0)
    }

    /// The port for clients.
    let port: UInt16
    private let listener: Int32
    private let shared = Shared()

    /// Listens on an ephemeral port.
    ///
    /// - Parameters:
    ///   - server: The port of the server on this machine.
    ///   - pause: The time between two bytes, in microseconds.
    /// - Throws: An error if no port is available.
    init(to server: UInt16, pause: UInt32) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isBound)
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [shared] in
            let client = accept(listener, nil, nil)
            let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.address(port: server)
            let isConnected = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            guard client >= 0, isConnected else { return }
            var isOn: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, size)
            Thread.detachNewThread { Self.forward(from: client, to: upstream, shared) }
            Self.drip(from: upstream, to: client, pause, shared)
        }
    }

    deinit {
        // Unblocks the accepting thread.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// The number of bytes sent one at a time.
    var dripCount: Int { shared.dripCount.load(ordering: .relaxed) }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }

    private static func forward(from client: Int32, to upstream: Int32, _ shared: Shared) {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(client, &bytes, bytes.count, 0), count > 0 {
            shared.requestLength.wrappingAdd(count, ordering: .relaxed)
            guard send(upstream, bytes, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(upstream, Int32(SHUT_WR))
    }

    private static func drip(
        from upstream: Int32,
        to client: Int32,
        _ pause: UInt32,
        _ shared: Shared
    ) {
        defer {
            close(upstream)
            close(client)
        }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(upstream, &bytes, bytes.count, 0), count > 0 {
            guard shared.requestLength.load(ordering: .relaxed) >= requestLengthMin else {
                guard send(client, bytes, count, Int32(MSG_NOSIGNAL)) == count else { return }
                continue
            }
            for byte in bytes[..<count] {
                guard send(client, [byte], 1, Int32(MSG_NOSIGNAL)) == 1 else { return }
                shared.dripCount.wrappingAdd(1, ordering: .relaxed)
                usleep(pause)
            }
        }
    }
}
