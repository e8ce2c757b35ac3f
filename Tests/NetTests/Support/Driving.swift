import CLinux
import Glibc
import Testing

@testable import Net

extension Reactor {
    /// Makes a reactor whose turns the test runs on its own thread.
    static func forTest() throws -> Reactor { try Reactor(loop: EventLoop(name: "test")) }

    /// Runs turns until `condition` is true; records an issue after `limit`.
    func run(
        atMost limit: Duration = .seconds(20),
        _ what: Comment? = nil,
        location: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) {
        let deadline = MonotonicTime.current.advanced(by: limit)
        while !condition() {
            guard MonotonicTime.current < deadline else {
                Issue.record(what ?? "the condition never came true", sourceLocation: location)
                return
            }
            turn(atMost: .milliseconds(100))
        }
    }

    /// Runs one turn, which waits for at most `limit`.
    func turn(atMost limit: Duration) {
        poll(atMost: limit)
        flush()
    }

    /// Runs turns until no work is left.
    func settle() { for _ in 0..<20 { turn(atMost: .zero) } }

    /// Makes two connected streams.
    func pair(
        _ left: any StreamDelegate,
        _ right: any StreamDelegate,
        limits: StreamLimits = .init()
    ) throws -> (left: Stream, right: Stream) {
        let raw = try socketPair()
        return (
            try adopt(FileDescriptor(raw[0], from: ""), limits: limits, delegate: left),
            try adopt(FileDescriptor(raw[1], from: ""), limits: limits, delegate: right)
        )
    }

    /// Makes a stream and the raw descriptor of its peer, which blocks only briefly.
    func streamAndPeer(
        _ delegate: any StreamDelegate,
        limits: StreamLimits = .init()
    ) throws -> (stream: Stream, peer: RawPeer) {
        let raw = try socketPair()
        return (
            try adopt(FileDescriptor(raw[0], from: ""), limits: limits, delegate: delegate),
            RawPeer(try FileDescriptor(raw[1], from: ""))
        )
    }
}

private func socketPair() throws -> [Int32] {
    var raw: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    try SystemError.check(socketpair(AF_UNIX, type, 0, &raw), "socketpair")
    return raw
}

/// The other end of a socket, without a reactor; the test reads and writes.
final class RawPeer {
    private var descriptor: FileDescriptor?
    let fd: Int32

    init(_ descriptor: consuming FileDescriptor) {
        fd = descriptor.raw
        self.descriptor = consume descriptor
    }

    /// Connects to a listener, blocking.
    convenience init(to address: SocketAddress) throws {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = try FileDescriptor(
            socket(address.protocolFamily, type, 0),
            from: "socket"
        )
        let fd = descriptor.raw
        try SystemError.check(address.withRaw { Glibc.connect(fd, $0, $1) }, "connect")
        self.init(descriptor)
    }

    func close() { descriptor = nil }

    /// Reads without waiting; nil at the end.
    func read(atMost limit: Int = 1 << 20) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(fd, &bytes, limit, Int32(MSG_DONTWAIT))
        if count == 0 { return nil }
        return Array(bytes.prefix(max(count, 0)))
    }

    /// Whether the other side has closed: by a FIN, or by a reset if it left bytes unread.
    var hasEnded: Bool {
        var byte: UInt8 = 0
        let count = recv(fd, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK))
        return count == 0 || count < 0 && errno == ECONNRESET
    }

    /// Sends as much as the kernel accepts at once.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Int {
        send(fd, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }

    /// The number of received TCP segments, including empty ones (`tcpi_segs_in`, Linux 4.2).
    var segmentsReceived: UInt32 {
        // glibc's tcp_info ends before it.
        var information = [UInt8](repeating: 0, count: 144)
        var length = socklen_t(information.count)
        getsockopt(fd, Int32(IPPROTO_TCP), TCP_INFO, &information, &length)
        return information.withUnsafeBytes { $0.load(fromByteOffset: 140, as: UInt32.self) }
    }

    func endWriting() { _ = shutdown(fd, Int32(SHUT_WR)) }
}

/// Bytes that depend on their position, so that a gap or a swap is detected.
func pattern(_ count: Int, seed: UInt32 = 1) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
    }
}
