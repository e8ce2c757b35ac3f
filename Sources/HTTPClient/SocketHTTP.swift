#if os(Linux)
    import Net

    /// Sends requests to one server over this package's sockets, on a separate thread.
    package final class SocketHTTP: HTTPTransport {
        private let origin: HTTPOrigin
        private let client: SocketClient

        /// Starts the thread; connections are opened on demand.
        ///
        /// - Parameters:
        ///   - address: The server.
        ///   - trust: The accepted certificates.
        ///   - route: The route to the server; `.system` is without a proxy.
        ///   - settings: The connection settings.
        /// - Throws: `.unreachable` if no thread or descriptor is left, or the certificates cannot be read.
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

        /// Sends a request and waits for the complete response.
        package func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer {
            try await client.send(call, to: origin)
        }
    }
#endif
