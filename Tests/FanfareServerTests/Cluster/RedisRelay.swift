import Foundation
import Glibc
import Synchronization
import Testing

/// A relay between nodes and their Redis server, which fails as networks do.
final class RedisRelay: Sendable {
    /// What the relay does with connections and bytes.
    enum Mode {
        /// It passes on everything.
        case open
        /// It ends connections, and refuses new ones.
        case cut
        /// It passes on nothing, and keeps connections.
        case stalled
        /// It passes on what the server sends up to this text, and no more.
        case withholding(behind: String)
    }

    private struct State {
        var mode = Mode.open
        var target: String
        var isEnded = false
        /// Whether the text has come behind which everything is withheld.
        var isWithholding = false
    }

    private let state: Mutex<State>
    private let listener: Int32
    private let path: String
    /// The number of connections that are passed on.
    private let connectionCount = Atomic(0)

    /// The address for the nodes.
    var address: String { "redis+unix://\(path)" }
    /// The port for replicas; 0 if there is none.
    let port: UInt16

    /// Begins to relay to a server's socket.
    ///
    /// - Parameters:
    ///   - target: The socket.
    ///   - hasPort: Whether to listen on a port, since replicas reach their primary by one; then there is no address.
    init(to target: String, hasPort: Bool = false) {
        state = Mutex(State(target: target))
        path = NSTemporaryDirectory() + "relay-\(UUID().uuidString.prefix(8)).sock"
        let family = hasPort ? AF_INET : AF_UNIX
        let listener = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        if hasPort {
            port = Self.bind(listener)
        } else {
            port = 0
            precondition(Self.named(path) { Glibc.bind(listener, $0, $1) } == 0)
        }
        precondition(listen(listener, 64) == 0)
        Thread.detachNewThread { [self] in
            while !state.withLock({ $0.isEnded }) {
                var news = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                guard poll(&news, 1, 20) > 0 else { continue }
                let client = accept(listener, nil, nil)
                guard client >= 0 else { continue }
                serve(client)
            }
            close(listener)
            unlink(path)
        }
    }

    /// Changes what the relay does, and waits until no connection is left behind a cut.
    func set(_ mode: Mode) async throws {
        state.withLock { ($0.mode, $0.isWithholding) = (mode, false) }
        guard case .cut = mode else { return }
        try await eventually { connectionCount.load(ordering: .relaxed) == 0 }
    }

    /// Cuts a node off Redis, and waits until the node has noticed: what it sends before, Redis may still execute.
    func cut(_ node: TestBroker) async throws {
        try await set(.cut)
        try await eventually { await node.metric("fanfare_cluster_connections") == 0 }
    }

    /// Whether the text has come behind which the relay passes on nothing that the server sends.
    var isWithholding: Bool { state.withLock { $0.isWithholding } }

    /// Relays new connections to another server.
    func retarget(to target: String) { state.withLock { $0.target = target } }

    /// Ends the relay.
    func end() {
        state.withLock {
            $0.mode = .cut
            $0.isEnded = true
        }
    }

    private func serve(_ client: Int32) {
        let (acceptsConnections, target) = state.withLock { state in
            switch state.mode {
            case .open, .withholding: (true, state.target)
            case .cut, .stalled: (false, state.target)
            }
        }
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard acceptsConnections, Self.named(target, { connect(server, $0, $1) }) == 0 else {
            close(server)
            close(client)
            return
        }
        connectionCount.add(1, ordering: .relaxed)
        Thread.detachNewThread { [self] in
            relay(client, server)
            close(client)
            close(server)
            connectionCount.subtract(1, ordering: .relaxed)
        }
    }

    private func relay(_ client: Int32, _ server: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        // What the server has sent behind the text.
        var withheld: ArraySlice<UInt8> = []
        while true {
            let (mode, isWithholding) = state.withLock { ($0.mode, $0.isWithholding) }
            switch mode {
            case .cut: return
            case .stalled: usleep(5_000)
            case .open, .withholding:
                if !isWithholding, !withheld.isEmpty {
                    guard Self.write(withheld, to: client) else { return }
                    withheld = []
                }
                var news = (isWithholding ? [client] : [client, server]).map {
                    pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
                }
                guard poll(&news, nfds_t(news.count), 5) > 0 else { continue }
                for (number, news) in news.enumerated() where news.revents != 0 {
                    // What comes behind a change of the mode is not read as before it.
                    let bytes = state.withLock { state -> ArraySlice<UInt8>? in
                        switch state.mode {
                        case .cut, .stalled: return nil
                        case .open, .withholding: break
                        }
                        let bytes = buffer[..<max(0, read(news.fd, &buffer, buffer.count))]
                        guard number == 1, case .withholding(let text) = state.mode,
                            let end = bytes.firstRange(of: Array(text.utf8))?.upperBound
                        else { return bytes }
                        state.isWithholding = true
                        withheld = bytes[end...]
                        return bytes[..<end]
                    }
                    guard let bytes else { break }
                    let target = number == 0 ? server : client
                    guard !bytes.isEmpty, Self.write(bytes, to: target) else { return }
                }
            }
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Binds a socket to a free port, and returns the port.
    private static func bind(_ listener: Int32) -> UInt16 {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(Glibc.bind(listener, $0, length) == 0)
                precondition(getsockname(listener, $0, &length) == 0)
            }
            return UInt16(bigEndian: name.pointee.sin_port)
        }
    }

    private static func named(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
