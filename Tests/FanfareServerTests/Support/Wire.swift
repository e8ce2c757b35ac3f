import Glibc

/// A plain TCP connection to a broker, with none of the project's code between the test and the bytes.
final class Wire {
    enum Failure: Error, CustomStringConvertible {
        case system(String, Int32)
        case ended(received: String)
        case late(received: String)

        var description: String {
            switch self {
            case .system(let call, let code): "\(call): \(String(cString: strerror(code)))"
            case .ended(let received): "the connection ended after \"\(received)\""
            case .late(let received): "nothing more came in time after \"\(received)\""
            }
        }
    }

    /// The longest time without a byte while one is awaited.
    var patience = Duration.seconds(20)
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// The number of consumed bytes of the buffer.
    private var taken = 0
    private var unread: ArraySlice<UInt8> { buffer[taken...] }

    /// Connects.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - ip: The IPv4 address.
    ///   - keepsLittle: Whether the socket buffers of both sides are small, so that a queue fills soon.
    /// - Throws: The call that failed.
    init(port: UInt16, ip: String = "127.0.0.1", keepsLittle: Bool = false) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        if keepsLittle {
            // Before the connection is opened, since its window and the peer's buffer depend on it.
            set(SOL_SOCKET, SO_RCVBUF, 4_096)
            set(Int32(IPPROTO_TCP), TCP_MAXSEG, 536)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(ip)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure.system("connect", errno) }
    }

    deinit { _ = close(descriptor) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure.system("send", errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends as long as the peer receives, without blocking the thread.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to send.
    ///   - patience: The maximum wait for a peer that does not receive.
    /// - Returns: The number of bytes in the kernel: all, or those before the peer closed the connection or stopped
    ///   reading.
    /// - Throws: When the test is cancelled.
    @discardableResult
    func pour(_ bytes: [UInt8], patience: Duration = .seconds(20)) async throws -> Int {
        var sent = 0
        var deadline = ContinuousClock.now + patience
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
                return Glibc.send(descriptor, $0.baseAddress, min($0.count, 65_536), flags)
            }
            if count > 0 {
                sent += count
                deadline = ContinuousClock.now + patience
                await Task.yield()
                continue
            }
            guard errno == EAGAIN || errno == EINTR else { return sent }
            guard ContinuousClock.now < deadline else { return sent }
            try await Task.sleep(for: .milliseconds(2))
        }
        return sent
    }

    /// The number of bytes in the socket's receive buffer.
    var receivedCount: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Whether the peer has ended sending; received data can still be read.
    var hasPeerEnded: Bool {
        // POLLRDHUP (poll(2)), which Glibc's module does not name.
        var news = pollfd(fd: descriptor, events: 0x2000, revents: 0)
        return poll(&news, 1, 0) > 0
    }

    /// Ends this side's sending: the peer reads an end, and can still write.
    func endSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes the connection by a reset, with all data in transit.
    func reset() {
        // Connecting to AF_UNSPEC resets the connection.
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Waits for `count` bytes, and removes them from the buffer.
    func read(_ count: Int) async throws -> [UInt8] {
        while unread.count < count { try await receive() }
        return take(count)
    }

    /// Waits for `end`, and removes everything up to and including it.
    func read(through end: String) async throws -> String {
        let end = Array(end.utf8)
        while true {
            if let range = unread.firstRange(of: end) {
                return String(decoding: take(range.upperBound - taken), as: UTF8.self)
            }
            try await receive()
        }
    }

    /// Waits for the peer's end.
    ///
    /// - Parameter orReset: Whether the end may be a reset, which follows data that the broker did not read.
    /// - Returns: The data before the end.
    /// - Throws: The call that failed, or a timeout.
    func readToEnd(orReset: Bool = false) async throws -> [UInt8] {
        do {
            while true { try await receive() }
        } catch Failure.ended {
            return Array(unread)
        } catch Failure.system(_, ECONNRESET) where orReset {
            return Array(unread)
        }
    }

    private func take(_ count: Int) -> [UInt8] {
        let bytes = Array(unread.prefix(count))
        taken += count
        if taken == buffer.count { (buffer, taken) = ([], 0) }
        return bytes
    }

    /// Reads once, waiting for at most ``patience``.
    private func receive() async throws {
        let deadline = ContinuousClock.now + patience
        var received = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = received.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                buffer += received.prefix(count)
                return
            }
            if count == 0 { throw Failure.ended(received: excerpt) }
            guard errno == EAGAIN || errno == EINTR else { throw Failure.system("recv", errno) }
            guard ContinuousClock.now < deadline else { throw Failure.late(received: excerpt) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private var excerpt: String { String(decoding: unread.prefix(200), as: UTF8.self) }
}
