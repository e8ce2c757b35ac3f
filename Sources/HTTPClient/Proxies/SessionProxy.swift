#if canImport(Darwin) || DEBUG
    #if canImport(FoundationNetworking)
        import Foundation
        package import FoundationNetworking
    #else
        package import Foundation
    #endif
    #if canImport(Network)
        import Network
    #endif

    /// Sets a session's proxy.
    package enum SessionProxy {
        /// Has a session go by a proxy.
        ///
        /// - Parameters:
        ///   - route: How to get through; `.system` changes nothing.
        ///   - configuration: The session's configuration.
        package static func apply(
            _ route: HTTPRoute,
            to configuration: URLSessionConfiguration
        ) {
            switch route {
            case .system: break
            // Settings without any proxy in them, in place of the system's.
            case .direct: configuration.connectionProxyDictionary = [:]
            case .proxy(let proxy): apply(proxy, to: configuration)
            }
        }

        #if canImport(Network)
            private static func apply(
                _ proxy: ProxyAddress,
                to configuration: URLSessionConfiguration
            ) {
                let endpoint = NWEndpoint.hostPort(
                    host: NWEndpoint.Host(proxy.host),
                    port: NWEndpoint.Port(integerLiteral: proxy.port)
                )
                var setting = ProxyConfiguration(httpCONNECTProxy: endpoint)
                // Without the proxy nothing is to go out.
                setting.allowFailover = false
                if let user = proxy.user {
                    setting.applyCredential(username: user, password: proxy.password)
                }
                configuration.proxyConfigurations = [setting]
            }
        #else
            private static func apply(
                _ proxy: ProxyAddress,
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
