import Net

/// Makes connections to the server: its addresses in turn until one answers, then that one.
final class Dialer {
    /// The name that the server's certificate must have, and what to believe; nil without TLS.
    private let tls: (context: TLSContext, serverName: String)?
    private var addresses: ArraySlice<SocketAddress>

    /// How long a connection attempt may take.
    private let timeout: Duration

    /// A dialer of a server.
    ///
    /// - Parameters:
    ///   - plan: Names the server, and says whether to check its certificate.
    ///   - addresses: Those of its name, at least one, the preferred first.
    /// - Throws: Why the authorities that the machine trusts cannot be read.
    init(_ plan: FanoutPlan, addresses: [SocketAddress]) throws(TLSError) {
        timeout = plan.patience
        tls =
            plan.target.isSecure
            ? (try .client(trust: plan.isInsecure ? .insecure : .system), plan.target.host) : nil
        self.addresses = addresses[...]
    }

    /// Begins a connection to the address that is in favour.
    func connect(on reactor: Reactor, owner: any StreamOwner) throws(BenchError) -> Stream {
        guard let address = addresses.first else { throw .machine("there is no address to try") }
        do throws(SystemError) {
            return try reactor.connect(to: address, tls: tls, timeout: timeout, owner: owner)
        } catch {
            throw .machine("Cannot open a connection: \(error)")
        }
    }

    /// Gives up the address in favour.
    ///
    /// - Returns: Whether there is another one.
    func tryNextAddress() -> Bool {
        addresses = addresses.dropFirst()
        return !addresses.isEmpty
    }
}
