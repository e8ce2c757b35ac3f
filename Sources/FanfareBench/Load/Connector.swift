import Glibc
import Net
import PusherProtocol
import WebSocket

/// Opens connections to the server.
///
/// It tries each address until one answers, then uses that one.
final class Connector {
    /// The server.
    let target: TargetServer
    /// Counts what all clients read.
    let traffic = Traffic()
    private let maskingKeys = MaskingKeys()
    /// The TLS settings and the expected name in the certificate; nil without TLS.
    private let tls: (context: TLSContext, serverName: String)?
    private var addresses: ArraySlice<SocketAddress>
    private let connectionURL: ConnectionURL
    private let deflate: DeflateOptions?
    private var connectionCount = 0

    /// Creates a connector to at least one address, the preferred one first.
    init(_ target: TargetServer, addresses: [SocketAddress]) throws(BenchError) {
        self.target = target
        let url = target.url
        do throws(TLSError) {
            tls = url.isSecure ? (try .client(trust: target.trust), url.host) : nil
        } catch {
            throw .machine("TLS cannot be set up: \(error)")
        }
        self.addresses = addresses[...]
        connectionURL = ConnectionURL(
            key: target.key,
            client: "fanfare-bench",
            clientVersion: "1.0"
        )
        // Without context takeover a server can compress a message once for all subscribers.
        deflate =
            target.offersDeflate
            ? DeflateOptions(serverNoContextTakeover: true, clientNoContextTakeover: true) : nil
    }

    /// The address in use; nil when none is left.
    var address: SocketAddress? { addresses.first }

    /// Opens a connection to the address in use.
    func connect(on reactor: Reactor, delegate: any StreamDelegate) throws(BenchError) -> Stream {
        guard let address else { throw .machine("no address to try") }
        return try connect(to: address, on: reactor, delegate: delegate)
    }

    /// Opens a connection on which events are triggered.
    func connectAsBackend(
        on reactor: Reactor,
        delegate: any StreamDelegate
    ) throws(BenchError) -> Stream {
        guard let backend = target.backend else {
            return try connect(on: reactor, delegate: delegate)
        }
        return try connect(to: backend, on: reactor, delegate: delegate)
    }

    private func connect(
        to address: SocketAddress,
        on reactor: Reactor,
        delegate: any StreamDelegate
    ) throws(BenchError) -> Stream {
        let sources = Self.sources(for: address)
        connectionCount += 1
        do throws(SystemError) {
            return try reactor.connect(
                to: address,
                from: sources[connectionCount % sources.count],
                tls: tls,
                timeout: target.stallTimeout,
                delegate: delegate
            )
        } catch {
            throw error.code == EADDRNOTAVAIL
                ? .noLocalPort : .machine("Cannot open a connection: \(error)")
        }
    }

    /// The addresses of this machine to connect from, in turn; nil lets the kernel choose.
    ///
    /// Between two addresses the kernel searches the ports in use for a free one: beside 19,000 connections that took more
    /// processor time than all else that a client does. Clients on machines of their own have no such neighbors.
    static func sources(for address: SocketAddress) -> [SocketAddress?] {
        address.ip?.hasPrefix("127.") == true ? loopbackSources : [nil]
    }

    private static let loopbackSources = (1...16).map {
        SocketAddress(ip: "127.0.0.\($0)", port: 0)
    }

    /// Opens a WebSocket connection; its stream owns the client.
    ///
    /// A session token goes into the path, as stock clients have it.
    @discardableResult
    func connect(
        _ index: Int,
        token: String? = nil,
        delegate: any BenchClientDelegate,
        on reactor: Reactor
    ) throws(BenchError) -> BenchClient {
        let prefix = target.url.pathPrefix + (token.map { "/r/\($0)" } ?? "")
        let handshake: ClientHandshake
        do throws(HandshakeFailure) {
            handshake = try ClientHandshake(
                host: target.url.hostField,
                target: connectionURL.target(pathPrefix: prefix),
                nonce: maskingKeys.nonce(),
                deflate: deflate
            )
        } catch {
            throw .machine("\(error)")
        }
        let client = BenchClient(
            index: index,
            delegate: delegate,
            traffic: traffic,
            maskingKeys: maskingKeys,
            handshake: handshake
        )
        _ = try connect(on: reactor, delegate: client)
        return client
    }

    /// Opens further connections to another server.
    func move(to address: SocketAddress) { addresses = [address] }

    /// Continues with the next address; returns whether there is another one.
    func tryNextAddress() -> Bool {
        addresses = addresses.dropFirst()
        return !addresses.isEmpty
    }
}

/// Finds an address at which the server answers.
final class ServerProbe: StreamDelegate {
    /// Whether the server is on this machine; nil until it has been reached.
    private(set) var isLocal: Bool?
    /// The error; nil while there are addresses to try.
    private(set) var failure: BenchError?
    private let connector: Connector
    private let reactor: Reactor

    /// Opens a connection, which is closed as soon as it is established.
    init(connector: Connector, reactor: Reactor) {
        self.connector = connector
        self.reactor = reactor
        connect()
    }

    private func connect() {
        do throws(BenchError) {
            _ = try connector.connect(on: reactor, delegate: self)
        } catch {
            failure = error
        }
    }

    func streamOpened(_ stream: Stream) {
        let remote = stream.remoteAddress()
        isLocal = remote?.isLoopback == true || remote?.ip == stream.localAddress()?.ip
        stream.abort()
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        guard isLocal == nil, error != .shutDown else { return }
        guard !connector.tryNextAddress() else { return connect() }
        let reason = error.map { "\($0)" } ?? "the server closed it"
        let hint =
            if case .tls = error {
                "--trust FILE trusts its certificate, --insecure accepts any."
            } else {
                "Is the server running there?"
            }
        failure = .unreachable(url: connector.target.url.text, reason: "\(reason). \(hint)")
    }
}
