import Foundation
import Synchronization
import Testing

/// An endpoint that answers with some bytes, then repeats others endlessly.
final class DrippingEndpoint: Sendable {
    /// The URL for webhooks.
    let url: String

    private final class Shared: Sendable {
        let isOver = Atomic(false)
        let dripCount = Atomic(0)
    }

    private let descriptor: Int32
    private let shared = Shared()

    /// Listens on an ephemeral port.
    ///
    /// - Parameters:
    ///   - start: The beginning of every answer.
    ///   - drip: The repeated bytes, one write each.
    ///   - pause: The time between two writes, in microseconds.
    /// - Throws: An error if no port is available.
    init(start: String, drip: String, pause: UInt32) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isBound)
        self.descriptor = descriptor
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/hooks"
        Thread.detachNewThread { [shared] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                Thread.detachNewThread {
                    Self.answer(connection, Array(start.utf8), Array(drip.utf8), pause, shared)
                }
            }
        }
    }

    deinit {
        shared.isOver.store(true, ordering: .relaxed)
        // Unblocks the accepting thread.
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// The number of writes on all connections.
    var dripCount: Int { shared.dripCount.load(ordering: .relaxed) }

    private static func answer(
        _ connection: Int32,
        _ start: [UInt8],
        _ drip: [UInt8],
        _ pause: UInt32,
        _ shared: Shared
    ) {
        defer { close(connection) }
        var isOn: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, size)
        var request = [UInt8](repeating: 0, count: 65_536)
        guard recv(connection, &request, request.count, 0) > 0 else { return }
        guard send(connection, start, start.count, Int32(MSG_NOSIGNAL)) == start.count
        else { return }
        while !shared.isOver.load(ordering: .relaxed),
            send(connection, drip, drip.count, Int32(MSG_NOSIGNAL)) > 0
        {
            shared.dripCount.wrappingAdd(1, ordering: .relaxed)
            usleep(pause)
        }
    }
}
