import CLinux
import Glibc
import Net

/// A peer's end of a connection to the broker: nothing moves but what it is told to move.
final class Pipe {
    private(set) var descriptor: Int32
    /// What the peer has to say and the kernel has not taken.
    private var outgoing: [UInt8] = []
    private var sentCount = 0
    /// Whether the broker's end has been seen, or its reset.
    private(set) var hasEnded = false

    /// Makes a pair of sockets.
    ///
    /// - Parameter room: How many bytes the kernel holds for the peer, more or less; it knows a least number.
    /// - Returns: The peer's end, and the broker's.
    /// - Throws: What the system refused.
    static func make(room: Int) throws(SystemError) -> (Pipe, broker: Int32) {
        var ends: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let result = withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) {
                socketpair(AF_UNIX, kind, 0, $0)
            }
        }
        guard result == 0 else { throw SystemError(call: "socketpair", code: errno) }
        var size = Int32(room)
        setsockopt(ends.1, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        return (Pipe(ends.0), ends.1)
    }

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    var isOpen: Bool { descriptor >= 0 }

    /// How many bytes wait to be pushed.
    var waitingCount: Int { outgoing.count - sentCount }

    /// Adds to what the peer has to say.
    func say(_ bytes: [UInt8]) { outgoing += bytes }

    /// Gives the kernel up to `limit` bytes; returns how many it has taken.
    func push(_ limit: Int) -> Int {
        let count = min(limit, waitingCount)
        guard isOpen, count > 0 else { return 0 }
        let sent = outgoing.withUnsafeBytes {
            send(descriptor, $0.baseAddress.map { $0 + sentCount }, count, Int32(MSG_NOSIGNAL))
        }
        if sent < 0 {
            // The broker has closed: what is left is for nobody.
            if errno != EAGAIN { sentCount = outgoing.count }
            return 0
        }
        sentCount += sent
        if sentCount == outgoing.count { (outgoing, sentCount) = ([], 0) }
        return sent
    }

    /// Takes up to `limit` bytes that have arrived, in one read.
    func read(_ limit: Int) -> [UInt8] {
        guard isOpen, !hasEnded, limit > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: min(limit, 65_536)) { room, count in
            let received = recv(descriptor, room.baseAddress, min(limit, 65_536), 0)
            count = max(received, 0)
            if received == 0 || received < 0 && errno != EAGAIN { hasEnded = true }
        }
    }

    /// Says that nothing more will be said, and goes on reading.
    func finish() {
        guard isOpen else { return }
        sentCount = outgoing.count
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the socket; with bytes unread, the broker sees a reset.
    func close() {
        guard isOpen else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
