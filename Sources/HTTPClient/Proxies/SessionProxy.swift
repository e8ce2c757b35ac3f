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

    /// Configures a session's proxy.
    package enum SessionProxy {
        /// Applies a route to a session's configuration; `.system` changes nothing.
        package static func apply(
            _ route: HTTPRoute,
            to configuration: URLSessionConfiguration
        ) {
            switch route {
            case .system: break
            // An empty dictionary overrides the system's settings.
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
                // Without the proxy, requests must fail.
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
                // Compiled only to check its spelling; no connection uses it.
                configuration.connectionProxyDictionary = [
                    "HTTPSEnable": 1, "HTTPSProxy": proxy.host, "HTTPSPort": Int(proxy.port),
                ]
            }
        #endif
    }
#endif
