import Glibc
import Synchronization

/// A scripted TCP server on the loopback interface, with blocking threads.
package final class ScriptedServer: Sendable {
    /// The reaction to a request.
    package enum Action: Sendable {
        /// Sends these bytes, then reads the next request.
        case answer(String)
        /// Sends these bytes one at a time, then reads the next request.
        case trickle(String)
        /// Sends these bytes, shuts down its side, and waits for the end of the other.
        case answerAndClose(String)
        /// Sends these bytes and closes; unread bytes make the kernel reset the connection.
        case answerAndReset(String)
        /// Closes without an answer.
        case close
        /// Sends nothing, and keeps the connection open.
        case silence
    }

    /// A received request.
    package struct Received: Sendable, Equatable {
        /// The number of its connection, counted from zero.
        package var connection: Int
        package var head: String
        package var body: String

        package var requestLine: String { String(head.prefix { $0 != "\r\n" }) }
        package var target: String {
            let parts = requestLine.split(separator: " ")
            return parts.count > 1 ? String(parts[1]) : ""
        }
    }

    package let port: UInt16
    private let readsContent: Bool
    private let listener: Int32
    private let log = Mutex<[Received]>([])
    private let connectionCounter = Atomic<Int>(0)
    private let endedCounter = Atomic<Int>(0)
    private let open = Mutex<[Int32]>([])

    package var received: [Received] { log.withLock { $0 } }
    package var connectionCount: Int { connectionCounter.load(ordering: .relaxed) }
    /// The number of connections ended by both sides.
    package var endedCount: Int { endedCounter.load(ordering: .relaxed) }
    package var url: String { "http://127.0.0.1:\(port)" }

    /// Listens on an ephemeral port.
    ///
    /// - Parameters:
    ///   - readsContent: Whether the content of requests is read; otherwise it stays in the socket.
    ///   - script: Called with each request and its number, counted from zero over all connections.
    /// - Throws: An error if no socket can be opened.
    package init(
        readsContent: Bool = true,
        _ script: @escaping @Sendable (Received, Int) -> Action
    ) throws {
        self.readsContent = readsContent
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                guard bind(listener, raw, length) == 0, listen(listener, 64) == 0 else { return -1 }
                return Int(getsockname(listener, raw, &length))
            }
        }
        guard status == 0 else { throw SetUpFailure() }
        port = UInt16(bigEndian: address.sin_port)
        startThread { [self] in accept(script) }
    }

    struct SetUpFailure: Error {}

    /// Stops listening and closes every connection.
    package func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        open.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    private func accept(_ script: @escaping @Sendable (Received, Int) -> Action) {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0 else { break }
            let number = connectionCounter.wrappingAdd(1, ordering: .relaxed).oldValue
            var on: Int32 = 1
            setsockopt(
                descriptor,
                Int32(IPPROTO_TCP),
                TCP_NODELAY,
                &on,
                socklen_t(MemoryLayout<Int32>.size)
            )
            open.withLock { $0.append(descriptor) }
            startThread { [self] in
                serve(descriptor, number, script)
                open.withLock { $0.removeAll { $0 == descriptor } }
                close(descriptor)
                endedCounter.wrappingAdd(1, ordering: .relaxed)
            }
        }
        close(listener)
    }

    private func serve(
        _ descriptor: Int32,
        _ number: Int,
        _ script: @Sendable (Received, Int) -> Action
    ) {
        var pending: [UInt8] = []
        while let request = read(from: descriptor, &pending, number) {
            let index = log.withLock { log in
                log.append(request)
                return log.count - 1
            }
            switch script(request, index) {
            case .answer(let text): write(Array(text.utf8), to: descriptor)
            case .trickle(let text):
                for byte in text.utf8 { write([byte], to: descriptor) }
            case .answerAndClose(let text):
                write(Array(text.utf8), to: descriptor)
                shutdown(descriptor, Int32(SHUT_WR))
                var rest: UInt8 = 0
                while recv(descriptor, &rest, 1, 0) > 0 {}
                return
            case .answerAndReset(let text): return write(Array(text.utf8), to: descriptor)
            case .close: return
            case .silence: break
            }
        }
    }

    /// Reads one request with its content; `nil` at the end.
    private func read(
        from descriptor: Int32,
        _ pending: inout [UInt8],
        _ number: Int
    ) -> Received? {
        while true {
            if let request = take(from: &pending, number) { return request }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            pending += chunk.prefix(count)
        }
    }

    private func take(from pending: inout [UInt8], _ number: Int) -> Received? {
        let text = String(decoding: pending, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        let head = String(text[..<end.lowerBound])
        let lines = head.split(separator: "\r\n")
        let length =
            !readsContent
            ? 0
            : lines.first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.split(separator: ":")[1].filter { $0 != " " }) } ?? 0
        let start = head.utf8.count + 4
        guard pending.count >= start + length else { return nil }
        let body = String(decoding: pending[start..<start + length], as: UTF8.self)
        pending.removeFirst(start + length)
        return Received(connection: number, head: head, body: body)
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32) {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            start += count
        }
    }
}

private func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(Body(body)).toOpaque()
    let status = pthread_create(
        &thread,
        nil,
        { argument in
            if let argument {
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
            }
            return nil
        },
        argument
    )
    precondition(status == 0, "no thread can be started")
    pthread_detach(thread)
}

/// Returns a response with its length.
package func response(_ body: String, status: String = "200 OK", fields: String = "") -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}
