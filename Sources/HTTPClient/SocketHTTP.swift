#if os(Linux)
    import Net

    /// Requests to one server over the package's own sockets, from a thread of its own.
    package final class SocketHTTP: HTTPTransport {
        private let origin: HTTPOrigin
        private let client: SocketClient

        /// Starts the thread; connections are made when they are needed.
        ///
        /// - Parameters:
        ///   - address: The server.
        ///   - trust: Whose certificates are accepted.
        ///   - route: How to get to the server; `.system` is without a proxy.
        ///   - settings: How connections are kept.
        /// - Throws: `.unreachable` when there is no thread, no descriptor or no certificate to be had.
        package init(
            to address: HTTPAddress,
            trust: HTTPTrust = .system,
            route: HTTPRoute = .system,
            settings: ConnectionSettings = ConnectionSettings()
        ) throws(HTTPFailure) {
            origin = try HTTPOrigin(address, by: route.proxy)
            do {
                let tls =
                    address.isSecure
                    ? try TLSContext.client(try Verification(reading: trust)) : nil
                client = try SocketClient(settings: settings, tls: tls, route: route)
            } catch {
                throw .unreachable("\(error)")
            }
        }

        /// Sends one request and waits for the whole answer.
        package func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer {
            try await client.send(call, to: origin)
        }
    }
#endif
