import Glibc
import HTTP1

/// A failed call of a test's client.
struct PeerError: Error {
    let call: String
    let code: Int32
}

/// A client with a plain blocking socket; its calls fail after 20 seconds.
final class Peer {
    private let fd: Int32
    private var parser = ResponseParser()
    private var kept: [UInt8] = []

    /// Connects to a port of this machine.
    init(port: UInt16) throws {
        fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard fd >= 0 else { throw PeerError(call: "socket", code: errno) }
        var on: Int32 = 1
        setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw PeerError(call: "connect", code: errno) }
    }

    deinit { close(fd) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw PeerError(call: "send", code: errno) }
            sent += count
        }
    }

    /// Ends the client's side.
    func endSending() { shutdown(fd, Int32(SHUT_WR)) }

    /// Returns whether bytes arrive within so many milliseconds.
    func isReadable(within milliseconds: Int32) -> Bool {
        var poll = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&poll, 1, milliseconds) > 0
    }

    /// Reads at least one byte; empty at the end.
    func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(fd, &buffer, buffer.count, 0)
        guard count >= 0 else { throw PeerError(call: "recv", code: errno) }
        return Array(buffer.prefix(count))
    }

    /// Reads exactly so many bytes; fewer at the end.
    func receive(count: Int) throws -> [UInt8] {
        while kept.count < count {
            let more = try receive()
            guard !more.isEmpty else { break }
            kept += more
        }
        defer { kept.removeFirst(min(count, kept.count)) }
        return Array(kept.prefix(count))
    }

    /// Reads up to the end; a reset throws.
    func receiveToEnd() throws -> [UInt8] {
        while case let more = try receive(), !more.isEmpty { kept += more }
        defer { kept = [] }
        return kept
    }

    /// Reads the next response, with its content as text.
    func response(to method: Method = .get) throws -> Answer {
        parser.expect(method)
        var head: ResponseHead?
        var isInterim = false
        while true {
            var index = 0
            defer { kept.removeFirst(index) }
            switch try parser.advance(over: kept.span, from: &index) {
            case .needsMore:
                let more = try receive()
                guard !more.isEmpty else { throw HTTPError.responseTruncated }
                kept += more
            case .interim(let interim): isInterim = interim.status == 100
            case .head(let final): head = final
            case .content(let content):
                guard let head else { throw HTTPError.statusLineMalformed }
                return Answer(
                    status: head.status.code,
                    text: String(decoding: content.copy(from: kept.span), as: UTF8.self),
                    connection: head.field("connection"),
                    allow: head.field("allow"),
                    keepAlive: head.field("keep-alive"),
                    hasContinue: isInterim
                )
            }
        }
    }

    /// Reads the next responses to GET requests.
    func texts(_ count: Int) throws -> [String] {
        try (0..<count).map { _ in try response().text }
    }
}

/// The parts of a response that tests check.
struct Answer: Equatable, Sendable {
    var status: Int
    var text = ""
    var connection: String?
    var allow: String?
    var keepAlive: String?
    var hasContinue = false
}

/// The body of a thread.
private final class ThreadBody {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
}

/// Runs blocking calls on a separate thread, so that they do not block the default executor.
func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let argument = Unmanaged.passRetained(
            ThreadBody { continuation.resume(with: Swift.Result { try body() }) }
        )
        var thread = pthread_t()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            argument.toOpaque()
        )
        guard code == 0 else {
            argument.release()
            return continuation.resume(throwing: PeerError(call: "pthread_create", code: code))
        }
        pthread_detach(thread)
    }
}

/// A GET request.
func get(_ path: String, _ fields: String...) -> String {
    "GET \(path) HTTP/1.1\r\nHost: h\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
}

/// A POST request.
func post(_ path: String, _ body: String, _ fields: String...) -> String {
    "POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n"
        + fields.map { $0 + "\r\n" }.joined() + "\r\n" + body
}
