import CLinux
import Glibc
package import Net

/// A peer's end of a connection to the broker, which transfers bytes only on request.
package final class Pipe {
    private(set) var descriptor: Int32
    /// The bytes that the socket has not taken yet.
    private var outgoing: [UInt8] = []
    private var sentCount = 0
    /// Whether the end of the stream, or a reset, was read.
    package private(set) var hasEnded = false

    /// Creates a socket pair.
    ///
    /// - Parameter bufferSize: The approximate size of the broker's socket buffer, in bytes; the kernel has a minimum.
    /// - Returns: The peer's end, and the broker's.
    /// - Throws: The system's error.
    package static func make(bufferSize: Int) throws(SystemError) -> (Pipe, broker: Int32) {
        var ends: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let result = withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) {
                socketpair(AF_UNIX, kind, 0, $0)
            }
        }
        guard result == 0 else { throw SystemError(call: "socketpair", code: errno) }
        var size = Int32(bufferSize)
        setsockopt(ends.1, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        return (Pipe(ends.0), ends.1)
    }

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    package var isOpen: Bool { descriptor >= 0 }

    /// Whether the broker has closed its end, though bytes that it has sent before may be unread.
    package var isClosedByBroker: Bool {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        return !isOpen || poll(&state, 1, 0) > 0 && Int32(state.revents) & Int32(POLLHUP) != 0
    }

    /// The number of unsent bytes.
    var waitingCount: Int { outgoing.count - sentCount }

    /// Queues bytes.
    package func enqueue(_ bytes: [UInt8]) { outgoing += bytes }

    /// Writes up to `limit` bytes; returns the number of bytes written.
    package func push(_ limit: Int) -> Int {
        let count = min(limit, waitingCount)
        guard isOpen, count > 0 else { return 0 }
        let sent = outgoing.withUnsafeBytes {
            send(descriptor, $0.baseAddress.map { $0 + sentCount }, count, Int32(MSG_NOSIGNAL))
        }
        if sent < 0 {
            // The broker has closed: the rest cannot be sent.
            if errno != EAGAIN { sentCount = outgoing.count }
            return 0
        }
        sentCount += sent
        if sentCount == outgoing.count { (outgoing, sentCount) = ([], 0) }
        return sent
    }

    /// Reads up to `limit` bytes, in one call.
    package func read(_ limit: Int) -> [UInt8] {
        guard isOpen, !hasEnded, limit > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: min(limit, 65_536)) { buffer, count in
            let received = recv(descriptor, buffer.baseAddress, min(limit, 65_536), 0)
            count = max(received, 0)
            if received == 0 || received < 0 && errno != EAGAIN { hasEnded = true }
        }
    }

    /// Closes the sending side only.
    func finish() {
        guard isOpen else { return }
        sentCount = outgoing.count
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the socket; with unread bytes, the broker sees a reset.
    package func close() {
        guard isOpen else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
