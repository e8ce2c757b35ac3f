import Glibc
import Net
import PusherProtocol
import WebSocket

/// Makes connections to the server: its addresses in turn until one answers, then that one.
final class Dialer {
    /// The server.
    let subject: BenchSubject
    /// What all devices have read.
    let traffic = Traffic()
    /// The name that the server's certificate must have, and what to believe; nil without TLS.
    private let tls: (context: TLSContext, serverName: String)?
    private var addresses: ArraySlice<SocketAddress>
    private let upgradeTarget: String
    private let deflate: DeflateOptions?

    /// A dialer of a server.
    ///
    /// - Parameters:
    ///   - subject: Names the server, and says whose certificates to believe.
    ///   - addresses: Those of its name, at least one, the preferred first.
    /// - Throws: Why the trusted certificates cannot be read.
    init(_ subject: BenchSubject, addresses: [SocketAddress]) throws(TLSError) {
        self.subject = subject
        let target = subject.target
        tls = target.isSecure ? (try .client(trust: subject.trust), target.host) : nil
        self.addresses = addresses[...]
        upgradeTarget = ConnectionURL(
            key: subject.key,
            client: "fanfare-bench",
            clientVersion: "1.0"
        ).target(pathPrefix: target.pathPrefix)
        // Each message on its own, so that a server can compress it once for all subscribers.
        deflate =
            subject.offersDeflate
            ? DeflateOptions(serverNoContextTakeover: true, clientNoContextTakeover: true) : nil
    }

    /// The address that is in favour; nil when none is left.
    var address: SocketAddress? { addresses.first }

    /// Begins a connection to the address that is in favour.
    func connect(on reactor: Reactor, delegate: any StreamDelegate) throws(BenchError) -> Stream {
        guard let address else { throw .machine("there is no address to try") }
        do throws(SystemError) {
            return try reactor.connect(
                to: address,
                tls: tls,
                timeout: subject.patience,
                delegate: delegate
            )
        } catch {
            throw error.code == EADDRNOTAVAIL
                ? .noLocalPort : .machine("Cannot open a connection: \(error)")
        }
    }

    /// Begins a connection that is to speak WebSocket.
    ///
    /// - Parameters:
    ///   - index: The device's place in its crowd.
    ///   - crowd: Who is told what it hears.
    ///   - reactor: Whose thread all calls come on.
    /// - Returns: The device, which its stream owns.
    /// - Throws: Why there can be no connection.
    @discardableResult
    func connect(
        _ index: Int,
        of crowd: any Crowd,
        on reactor: Reactor
    ) throws(BenchError) -> Device {
        let handshake: ClientHandshake
        do throws(HandshakeFailure) {
            handshake = try ClientHandshake(
                host: subject.target.hostField,
                target: upgradeTarget,
                nonce: (0..<16).map { _ in .random(in: .min ... .max) },
                deflate: deflate
            )
        } catch {
            throw .machine("\(error)")
        }
        let device = Device(index: index, crowd: crowd, traffic: traffic, handshake: handshake)
        _ = try connect(on: reactor, delegate: device)
        return device
    }

    /// Gives up the address in favour.
    ///
    /// - Returns: Whether there is another one.
    func tryNextAddress() -> Bool {
        addresses = addresses.dropFirst()
        return !addresses.isEmpty
    }
}
