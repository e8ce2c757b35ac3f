import CLinux
import Glibc
import Testing

@testable import Net

extension Reactor {
    /// A reactor that the test itself turns, on its own thread.
    static func forTest() throws -> Reactor { try Reactor(loop: EventLoop(name: "test")) }

    /// Turns until `condition` holds; records an issue after `limit`.
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

    /// One turn, which waits for no longer than this.
    func turn(atMost limit: Duration) {
        poll(atMost: limit)
        flush()
    }

    /// Turns until nothing is left to do at once.
    func settle() { for _ in 0..<20 { turn(atMost: .zero) } }

    /// Two streams that are each other's peers.
    func pair(
        _ left: any StreamDelegate,
        _ right: any StreamDelegate,
        limits: StreamLimits = .init()
    ) throws -> (left: Stream, right: Stream) {
        let raw = try socketPair()
        return (
            try adopt(FileDescriptor(raw[0], from: ""), limits: limits, owner: left),
            try adopt(FileDescriptor(raw[1], from: ""), limits: limits, owner: right)
        )
    }

    /// A stream and the raw descriptor of its peer, which blocks only briefly.
    func lonely(
        _ owner: any StreamDelegate,
        limits: StreamLimits = .init()
    ) throws -> (stream: Stream, peer: RawPeer) {
        let raw = try socketPair()
        return (
            try adopt(FileDescriptor(raw[0], from: ""), limits: limits, owner: owner),
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

/// The other end of a socket, without a reactor: it reads and writes when the test says so.
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

    /// What can be read without waiting; nil at the end.
    func read(atMost limit: Int = 1 << 20) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(fd, &bytes, limit, Int32(MSG_DONTWAIT))
        if count == 0 { return nil }
        return Array(bytes.prefix(max(count, 0)))
    }

    /// Whether the other side has closed: by an end, or by a reset when it has left bytes unread.
    var hasEnded: Bool {
        var byte: UInt8 = 0
        let count = recv(fd, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK))
        return count == 0 || count < 0 && errno == ECONNRESET
    }

    /// Sends what the kernel takes at once.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Int {
        send(fd, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }

    /// The segments that have come over TCP, those without bytes included (`tcpi_segs_in`, Linux 4.2).
    var segmentsReceived: UInt32 {
        // glibc's tcp_info ends before it.
        var information = [UInt8](repeating: 0, count: 144)
        var length = socklen_t(information.count)
        getsockopt(fd, Int32(IPPROTO_TCP), TCP_INFO, &information, &length)
        return information.withUnsafeBytes { $0.load(fromByteOffset: 140, as: UInt32.self) }
    }

    func endWriting() { _ = shutdown(fd, Int32(SHUT_WR)) }
}

/// Bytes that tell their own place, so that a gap or a swap shows.
func pattern(_ count: Int, seed: UInt32 = 1) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
    }
}
