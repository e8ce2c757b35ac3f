#if os(Linux)
    import HTTPClient
    import Net

    /// Where to connect to, and what to do once connected.
    struct Route: Sendable {
        /// The broker's, or its proxy's, in the order in which to try them.
        let addresses: [SocketAddress]
        /// Whom to trust, if the connection is to be encrypted.
        let verification: Verification?
        /// The proxy that the addresses are of.
        let proxy: ProxyAddress?

        /// Looks up names and reads files; blocks.
        ///
        /// - Parameter request: What is to be opened.
        /// - Throws: What cannot be found, or not be used.
        init(for request: TransportRequest) throws(ConnectionPlan.Fault) {
            let plan = try ConnectionPlan(for: request)
            verification = plan.verification
            let endpoint = request.endpoint
            proxy = plan.route.proxy
            if let proxy {
                do throws(ResolveError) {
                    addresses = try SocketAddress.resolve(host: proxy.host, port: proxy.port)
                } catch {
                    throw ConnectionPlan.Fault(
                        closure: .proxyFailed(
                            reason: "the proxy \(proxy) is not reached: \(error). Check its host"
                        )
                    )
                }
            } else {
                do throws(ResolveError) {
                    addresses = try SocketAddress.resolve(host: endpoint.host, port: endpoint.port)
                } catch {
                    throw ConnectionPlan.Fault(closure: .unreachable(reason: error.description))
                }
            }
        }
    }
#endif
