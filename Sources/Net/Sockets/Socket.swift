import CLinux
import Glibc

/// The system calls that make and configure sockets.
///
/// Errors name the call.
enum Socket {
    /// Flags to send without waiting, and without a SIGPIPE when the connection is lost.
    static var sendFlags: Int32 { Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL) }

    /// The same for a stream's last bytes: they wait for the FIN that follows at once, and share a segment with it.
    static var lastSendFlags: Int32 { sendFlags | Int32(MSG_MORE) }

    /// send(2), by default without waiting and without SIGPIPE.
    static func send(
        _ fd: Int32,
        _ base: UnsafeRawPointer,
        _ count: Int,
        flags: Int32 = sendFlags
    ) -> Int {
        shim_send(fd, base, count, flags)
    }

    /// The same for all bytes of an array.
    static func send(_ fd: Int32, _ bytes: [UInt8], flags: Int32 = sendFlags) -> Int {
        bytes.withUnsafeBytes {
            $0.baseAddress.map { send(fd, $0, bytes.count, flags: flags) } ?? 0
        }
    }

    /// Makes a non-blocking stream socket.
    static func make(_ family: Int32) throws(SystemError) -> FileDescriptor {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        return try FileDescriptor(
            socket(family, type | Int32(SOCK_CLOEXEC.rawValue), 0),
            from: "socket"
        )
    }

    /// Sets an option whose value is a number.
    static func set(
        _ option: Int32,
        of level: Int32,
        to value: Int32,
        on fd: Int32
    ) throws(SystemError) {
        var value = value
        let length = socklen_t(MemoryLayout<Int32>.size)
        try SystemError.check(setsockopt(fd, level, option, &value, length), "setsockopt")
    }

    /// Sends small writes at once (TCP_NODELAY); streams already join the writes of a turn.
    static func setNoDelay(on fd: Int32) throws(SystemError) {
        try set(Int32(TCP_NODELAY), of: Int32(IPPROTO_TCP), to: 1, on: fd)
    }

    /// Bounds the bytes that the kernel buffers beyond the peer's receive window (TCP_NOTSENT_LOWAT).
    ///
    /// Without it the kernel holds up to 4 MiB (`tcp_wmem`) for a peer that does not read. That memory is copied per
    /// socket and is not in the process's resident memory. It comes out of a pool (`tcp_mem`) whose exhaustion slows
    /// every connection of the machine. With the bound, the rest waits in the stream's queue, which is bounded and
    /// shares its frames. A fast peer is not slowed, because bytes in flight do not count.
    static func setUnsentMax(on fd: Int32) throws(SystemError) {
        try set(Int32(TCP_NOTSENT_LOWAT), of: Int32(IPPROTO_TCP), to: unsentMax, on: fd)
    }

    /// Removes that bound, so that the kernel's whole buffer is available for a stream's last bytes.
    ///
    /// Fails without effect for a socket other than TCP, which has no such bound.
    static func liftUnsentMax(on fd: Int32) {
        try? set(Int32(TCP_NOTSENT_LOWAT), of: Int32(IPPROTO_TCP), to: 0, on: fd)
    }

    /// Sets the options that the sockets which a TCP listener accepts inherit.
    static func setStreamOptions(on listener: Int32) throws(SystemError) {
        try setNoDelay(on: listener)
        try setUnsentMax(on: listener)
    }

    /// The bound, in bytes; several of the largest events, so that the kernel always has bytes to send between two
    /// turns.
    static var unsentMax: Int32 { 128 << 10 }

    /// Returns and clears a socket's pending error; 0 for none.
    static func takeError(of fd: Int32) -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
        return code
    }

    /// The smoothed round-trip time that TCP has measured (tcp(7), `TCP_INFO`), in microseconds; nil if not TCP.
    static func roundTripMicroseconds(of fd: Int32) -> Int? {
        var info = tcp_info()
        var length = socklen_t(MemoryLayout<tcp_info>.size)
        guard getsockopt(fd, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0 else { return nil }
        return Int(info.tcpi_rtt)
    }

    /// Sets the address that a socket connects from, on a port that the kernel chooses when it connects.
    static func bind(_ fd: Int32, toSource address: SocketAddress) throws(SystemError) {
        // Otherwise the port would be chosen now, and no other socket could use it, whatever address it connects to.
        try set(Int32(IP_BIND_ADDRESS_NO_PORT), of: Int32(IPPROTO_IP), to: 1, on: fd)
        try SystemError.check(try address.withRaw { Glibc.bind(fd, $0, $1) }, "bind")
    }

    /// Makes a socket, binds it, and listens.
    static func listen(
        on address: SocketAddress,
        backlog: Int32,
        reusePort: Bool
    ) throws(SystemError) -> FileDescriptor {
        let descriptor = try make(address.protocolFamily)
        if !address.isUnix {
            try set(SO_REUSEADDR, of: SOL_SOCKET, to: 1, on: descriptor.raw)
            if reusePort { try set(SO_REUSEPORT, of: SOL_SOCKET, to: 1, on: descriptor.raw) }
            try setStreamOptions(on: descriptor.raw)
        }
        if address.protocolFamily == AF_INET6 {
            // [::] is every network, IPv4 included (ipv6(7)), independent of the machine's settings.
            let isV6Only: Int32 = address.isUnspecified ? 0 : 1
            try set(Int32(IPV6_V6ONLY), of: Int32(IPPROTO_IPV6), to: isV6Only, on: descriptor.raw)
        }
        let bound = try address.withRaw { Glibc.bind(descriptor.raw, $0, $1) }
        try SystemError.check(bound, "bind")
        try SystemError.check(Glibc.listen(descriptor.raw, backlog), "listen")
        return descriptor
    }
}
