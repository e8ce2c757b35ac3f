import Net

/// Makes connections to the server: its addresses in turn until one answers, then that one.
final class Dialer {
    private let target: BenchTarget
    private var addresses: ArraySlice<SocketAddress>

    /// How long a connection attempt may take.
    private let timeout: Duration

    /// A dialer of a server.
    ///
    /// - Parameters:
    ///   - target: The server.
    ///   - addresses: Those of its name, at least one, the preferred first.
    ///   - timeout: How long a connection attempt may take.
    init(_ target: BenchTarget, addresses: [SocketAddress], timeout: Duration) {
        self.target = target
        self.timeout = timeout
        self.addresses = addresses[...]
    }

    /// Begins a connection to the address that is in favour.
    func connect(on reactor: Reactor, owner: any StreamOwner) throws(BenchError) -> Stream {
        guard let address = addresses.first else { throw .machine("there is no address to try") }
        do throws(SystemError) {
            return try reactor.connect(to: address, timeout: timeout, owner: owner)
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
