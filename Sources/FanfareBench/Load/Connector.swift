import Glibc
import Net
import PusherProtocol
import WebSocket

/// Makes connections to the server: its addresses in turn until one answers, then that one.
final class Connector {
    /// The server.
    let target: TargetServer
    /// What all clients have read.
    let traffic = Traffic()
    /// The name that the server's certificate must have, and what to believe; nil without TLS.
    private let tls: (context: TLSContext, serverName: String)?
    private var addresses: ArraySlice<SocketAddress>
    private let upgradeTarget: String
    private let deflate: DeflateOptions?

    /// A connector of a server.
    ///
    /// - Parameters:
    ///   - target: Names the server, and says whose certificates to believe.
    ///   - addresses: Those of its name, at least one, the preferred first.
    /// - Throws: Why the trusted certificates cannot be read.
    init(_ target: TargetServer, addresses: [SocketAddress]) throws(TLSError) {
        self.target = target
        let url = target.url
        tls = url.isSecure ? (try .client(trust: target.trust), url.host) : nil
        self.addresses = addresses[...]
        upgradeTarget = ConnectionURL(
            key: target.key,
            client: "fanfare-bench",
            clientVersion: "1.0"
        ).target(pathPrefix: url.pathPrefix)
        // Each message on its own, so that a server can compress it once for all subscribers.
        deflate =
            target.offersDeflate
            ? DeflateOptions(serverNoContextTakeover: true, clientNoContextTakeover: true) : nil
    }

    /// The address that is in favour; nil when none is left.
    var address: SocketAddress? { addresses.first }

    /// Begins a connection to the address that is in favour.
    func connect(on reactor: Reactor, owner: any StreamDelegate) throws(BenchError) -> Stream {
        guard let address else { throw .machine("there is no address to try") }
        do throws(SystemError) {
            return try reactor.connect(
                to: address,
                tls: tls,
                timeout: target.stallTimeout,
                owner: owner
            )
        } catch {
            throw error.code == EADDRNOTAVAIL
                ? .noLocalPort : .machine("Cannot open a connection: \(error)")
        }
    }

    /// Begins a connection that is to speak WebSocket.
    ///
    /// - Parameters:
    ///   - index: The client's place in its delegate.
    ///   - delegate: Who is told what it hears.
    ///   - reactor: Whose thread all calls come on.
    /// - Returns: The client, which its stream owns.
    /// - Throws: Why there can be no connection.
    @discardableResult
    func connect(
        _ index: Int,
        delegate: any BenchClientDelegate,
        on reactor: Reactor
    ) throws(BenchError) -> BenchClient {
        let handshake: ClientHandshake
        do throws(HandshakeFailure) {
            handshake = try ClientHandshake(
                host: target.url.hostField,
                target: upgradeTarget,
                nonce: (0..<16).map { _ in .random(in: .min ... .max) },
                deflate: deflate
            )
        } catch {
            throw .machine("\(error)")
        }
        let client = BenchClient(
            index: index,
            delegate: delegate,
            traffic: traffic,
            handshake: handshake
        )
        _ = try connect(on: reactor, owner: client)
        return client
    }

    /// Gives up the address in favour.
    ///
    /// - Returns: Whether there is another one.
    func tryNextAddress() -> Bool {
        addresses = addresses.dropFirst()
        return !addresses.isEmpty
    }
}

/// Finds out whether there is a server, and at which of its addresses.
final class ServerProbe: StreamDelegate {
    /// Whether the server has been reached, and then whether it is on this machine.
    private(set) var isLocal: Bool?
    /// Why it cannot be reached.
    private(set) var failure: BenchError?
    private let connector: Connector
    private let reactor: Reactor

    /// Begins a connection, which carries nothing.
    init(connector: Connector, reactor: Reactor) {
        self.connector = connector
        self.reactor = reactor
        connect()
    }

    private func connect() {
        do throws(BenchError) {
            _ = try connector.connect(on: reactor, owner: self)
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
                "--trust names a file with its certificate, --insecure accepts any."
            } else {
                "Is the server running there?"
            }
        failure = .unreachable(url: connector.target.url.text, reason: "\(reason). \(hint)")
    }
}
