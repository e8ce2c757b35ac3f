#if canImport(Darwin) || DEBUG
    import Foundation

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif
    #if canImport(Network)
        import Network
    #endif

    /// Sets a session's proxy.
    enum SessionProxy {
        /// Has a session go by a proxy.
        ///
        /// - Parameters:
        ///   - proxy: The proxy; `.system` changes nothing.
        ///   - configuration: The session's configuration.
        static func apply(
            _ proxy: ClientOptions.Proxy,
            to configuration: URLSessionConfiguration
        ) {
            switch proxy {
            case .system, .environment: break
            // Settings without any proxy in them, in place of the system's.
            case .none: configuration.connectionProxyDictionary = [:]
            case .http(let proxy): apply(proxy, to: configuration)
            }
        }

        #if canImport(Network)
            private static func apply(
                _ proxy: HTTPProxy,
                to configuration: URLSessionConfiguration
            ) {
                let endpoint = NWEndpoint.hostPort(
                    host: NWEndpoint.Host(proxy.host),
                    port: NWEndpoint.Port(integerLiteral: proxy.port)
                )
                var setting = ProxyConfiguration(httpCONNECTProxy: endpoint)
                // Without the proxy nothing is to go out.
                setting.allowFailover = false
                if let credentials = proxy.credentials {
                    setting.applyCredential(
                        username: credentials.user,
                        password: credentials.password
                    )
                }
                configuration.proxyConfigurations = [setting]
            }
        #else
            private static func apply(
                _ proxy: HTTPProxy,
                to configuration: URLSessionConfiguration
            ) {
                // Only compiled for its spelling: there is no connection that it could apply to.
                configuration.connectionProxyDictionary = [
                    "HTTPSEnable": 1, "HTTPSProxy": proxy.host, "HTTPSPort": Int(proxy.port),
                ]
            }
        #endif
    }
#endif
