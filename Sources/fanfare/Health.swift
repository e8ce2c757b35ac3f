import ArgumentParser
import BrokerConfiguration
import CommandSupport
import FanfareAPI
import Glibc
import Primitives

/// `fanfare health`: tells whether the broker of a configuration serves, for health checks of containers.
struct Health: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check whether a broker serves: exit code 0 or 1.",
        discussion: """
            Requests GET /health at the address in the configuration: host, port, TLS, path prefix \
            or Unix-domain socket. Without --config it uses the options of the only "fanfare \
            serve" on this machine. A broker must answer; one that is stopping is not healthy. The \
            certificate is not verified, because its names need not include this machine.

            Examples:
              fanfare health
              fanfare health --config fanfare.yaml
            """
    )

    @OptionGroup var source: ConfigurationSource

    /// The time limit for the answer, in seconds.
    private static let timeout = 2

    func run() async throws {
        let configuration = try listenSettings
        let path = configuration.pathPrefix + "/health"
        let (place, status, text) = try await Self.ask(configuration, path)
        guard text.contains("(fanfare ") else {
            throw CommandError("\(place)\(path) is not answered by a broker (status \(status))")
        }
        guard status == 200 else {
            throw CommandError("the broker at \(place) does not serve: \(text) (status \(status))")
        }
        Console.print("\(place): \(text)")
    }

    private var listenSettings: Configuration {
        get throws {
            let sections: Set = ["listen", "tls"]
            if source.path == nil, let arguments = BrokerProcess.onlyArguments(),
                let serve = try? Serve.parse(arguments)
            {
                return try serve.source.load(serve.options, sections: sections)
            }
            return try source.load(sections: sections)
        }
    }

    private static func ask(
        _ configuration: Configuration,
        _ path: String
    ) async throws -> (place: String, status: Int, text: String) {
        let name = configuration.hosts.reachableName
        if let port = configuration.port, port != 0 {
            return try await ask("http://\(name):\(port)", path)
        }
        if let port = configuration.tlsPort, port != 0 {
            return try await ask("https://\(name):\(port)", path)
        }
        if let socket = configuration.unixSocket { return try ask(socket: socket, path) }
        throw CommandError(
            "the port is 0 (any free one): set listen.port, tls.port or listen.unix_socket"
        )
    }

    private static func ask(
        _ url: String,
        _ path: String
    ) async throws -> (place: String, status: Int, text: String) {
        let request = APIRequest(
            method: "GET",
            target: path,
            body: [],
            timeout: .seconds(timeout),
            answerLengthMax: 65_536
        )
        do {
            let transport = try BrokerTransport(to: BrokerAddress(url), trust: .insecure)
            let answer = try await transport.send(request)
            return (url, answer.status, line(answer.body[...]))
        } catch {
            throw CommandError("\(url)\(path): \(error)")
        }
    }

    private static func ask(
        socket: String,
        _ path: String
    ) throws -> (place: String, status: Int, text: String) {
        let place = "unix:\(socket)"
        let head = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        guard let answer = UnixSocketRequest.send(Array(head.utf8), to: socket, timeout: timeout)
        else {
            throw CommandError("\(place): no answer: \(String(cString: strerror(errno)))")
        }
        let words = line(answer[...]).split(separator: " ")
        let status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        let end = answer.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? answer.endIndex
        return (place, status, line(answer[end...]))
    }

    /// The first line.
    private static func line(_ bytes: ArraySlice<UInt8>) -> String {
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(decoding: line, as: UTF8.self).printable
    }
}

/// One exchange on a Unix-domain socket, blocking.
private enum UnixSocketRequest {
    /// Sends bytes and reads up to the end; `nil` with `errno` if that fails.
    static func send(_ bytes: [UInt8], to path: String, timeout: Int) -> [UInt8]? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, length)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, length)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected, Glibc.send(fd, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0
        else { return nil }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while answer.count < 65_536 {
            let count = recv(fd, &buffer, buffer.count, 0)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            answer += buffer[..<count]
        }
        return answer
    }
}
