/// Opens the connections of a client: over the network, or to a broker of `FanfareTesting`.
public struct ClientTransport: Sendable {
    package let opener: any TransportOpener

    package init(_ opener: any TransportOpener) { self.opener = opener }

    /// The package's own sockets on Linux, the platform's WebSocket elsewhere.
    static let network: ClientTransport = {
        #if os(Linux)
            ClientTransport(SocketTransport())
        #else
            ClientTransport(URLSessionTransport())
        #endif
    }()
}
