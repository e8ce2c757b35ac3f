import HTTPClient

extension ClientOptions {
    /// The proxy for a client's connections.
    ///
    /// ```swift
    /// var options = ClientOptions()
    /// options.network.proxy = .http(HTTPProxy(host: "proxy.example.com", port: 3128))
    /// ```
    public enum Proxy: Sendable, Hashable {
        /// The system's proxy settings on Apple platforms; no proxy elsewhere.
        case system
        /// No proxy.
        case none
        /// This proxy, for `ws` and `wss`.
        case http(HTTPProxy)
        /// The proxy from environment variables.
        ///
        /// `http_proxy` for `ws`, and `https_proxy` or `HTTPS_PROXY` for `wss`, in the form of ``HTTPProxy/init(_:)``.
        /// `no_proxy` or `NO_PROXY` lists hosts to connect to without a proxy, separated by commas: a name includes its
        /// subdomains, `*` means all. Without these variables no proxy is used.
        case environment
    }
}

/// An HTTP proxy for tunnels (CONNECT, RFC 9110 §9.3.6).
///
/// The proxy cannot read `wss` and `https` traffic.
public struct HTTPProxy: Sendable, Hashable {
    /// A name or an address; an IPv6 address without brackets.
    public var host: String
    /// The TCP port.
    public var port: UInt16
    /// The user's name for Basic authentication (RFC 7617), without a colon; `nil` for a proxy without a login.
    ///
    /// The client sends name and password unencrypted, because the connection to the proxy has no TLS.
    public var user: String?
    /// The user's password.
    public var password: String

    /// Creates a proxy.
    ///
    /// - Parameters:
    ///   - host: A name or an address; an IPv6 address without brackets.
    ///   - port: The TCP port.
    ///   - user: The user's name, if the proxy requires a login.
    ///   - password: The user's password.
    public init(host: String, port: UInt16, user: String? = nil, password: String = "") {
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }

    /// Parses `http://[USER:PASSWORD@]HOST[:PORT]`.
    ///
    /// The port defaults to 80. The scheme may be left out; any other is refused, because TLS and SOCKS to the proxy
    /// are not supported. User and password are percent-decoded.
    ///
    /// - Parameter url: The proxy's URL.
    /// - Throws: The fault of the URL, without the password.
    public init(_ url: String) throws(InvalidOption) {
        self = try ProxyURL.read(url, called: "the proxy's URL")
    }
}

extension HTTPProxy: CustomStringConvertible, CustomReflectable {
    /// The proxy's URL, without the password.
    public var description: String { address.description }

    /// The proxy for the HTTPClient module.
    var address: ProxyAddress {
        ProxyAddress(host: host, port: port, user: user, password: password)
    }

    /// A mirror without the password.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
