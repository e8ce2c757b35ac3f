import HTTPClient

extension ClientOptions {
    /// The proxy for a client's connections.
    ///
    /// ```swift
    /// var options = ClientOptions()
    /// options.network.proxy = .http(host: "proxy.example.com", port: 3128)
    /// ```
    public struct Proxy: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case system
            case none
            case address(ProxyAddress)
            case environment
        }

        let kind: Kind

        /// The system's proxy settings on Apple platforms; no proxy elsewhere.
        public static let system = Proxy(kind: .system)

        /// No proxy.
        public static let none = Proxy(kind: .none)

        /// The proxy from environment variables.
        ///
        /// `http_proxy` for `ws`, and `https_proxy` or `HTTPS_PROXY` for `wss`, in the form of ``http(_:)``. `no_proxy`
        /// or `NO_PROXY` lists hosts to connect to without a proxy, separated by commas: a name includes its
        /// subdomains, `*` means all. Without these variables no proxy is used.
        public static let environment = Proxy(kind: .environment)

        /// An HTTP proxy for tunnels (CONNECT, RFC 9110 §9.3.6), for `ws` and `wss`.
        ///
        /// The proxy cannot read `wss` and `https` traffic. The client sends name and password unencrypted, because the
        /// connection to the proxy has no TLS.
        ///
        /// - Parameters:
        ///   - host: A name or an address; an IPv6 address without brackets.
        ///   - port: The TCP port.
        ///   - user: The user's name for Basic authentication (RFC 7617), without a colon; `nil` for a proxy without a
        ///     login.
        ///   - password: The user's password.
        /// - Returns: The proxy.
        public static func http(
            host: String,
            port: UInt16,
            user: String? = nil,
            password: String = ""
        ) -> Proxy {
            let address = ProxyAddress(host: host, port: port, user: user, password: password)
            return Proxy(kind: .address(address))
        }

        /// Reads the URL of an HTTP proxy: `http://[USER:PASSWORD@]HOST[:PORT]`.
        ///
        /// The port defaults to 80. The scheme may be left out; any other is refused, because TLS and SOCKS to the
        /// proxy are not supported. User and password are percent-decoded.
        ///
        /// - Parameter url: The proxy's URL.
        /// - Returns: The proxy, as in ``http(host:port:user:password:)``.
        /// - Throws: The fault of the URL, without the password.
        public static func http(_ url: String) throws(InvalidOption) -> Proxy {
            Proxy(kind: .address(try ProxyURL.read(url, called: "the proxy's URL")))
        }
    }
}
