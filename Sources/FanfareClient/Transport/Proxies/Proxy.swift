import HTTPClient

extension ClientOptions {
    /// How a client gets through to its broker.
    ///
    /// ```swift
    /// var options = ClientOptions()
    /// options.proxy = .http(HTTPProxy(host: "proxy.example.com", port: 3128))
    /// ```
    public enum Proxy: Sendable, Hashable {
        /// As the system is set up: on Apple platforms by its settings; elsewhere without a proxy.
        case system
        /// Without a proxy, whatever the system's settings say.
        case none
        /// By this proxy, for `ws` as for `wss`.
        case http(HTTPProxy)
        /// By the proxy that the process's environment names.
        ///
        /// That is `http_proxy` for `ws`, and `https_proxy` or `HTTPS_PROXY` for `wss`, in the form
        /// that ``HTTPProxy/init(_:)`` reads. `no_proxy` or `NO_PROXY` lists the hosts that are
        /// reached without, with commas between: a name also stands for the names below it, `*`
        /// for all. Without such a variable no proxy is used.
        case environment
    }
}

/// A proxy that opens tunnels (CONNECT, RFC 9110 §9.3.6): what runs through them is seen by the
/// broker alone, if it is `wss`, and by a backend, if it is `https`.
public struct HTTPProxy: Sendable, Hashable {
    /// A name or an address; an IPv6 address without brackets.
    public var host: String
    /// The TCP port.
    public var port: UInt16
    /// Who asks (RFC 7617); `nil` for a proxy that lets everybody through.
    ///
    /// The connection to the proxy is not encrypted, so neither is this.
    public var credentials: Credentials?

    /// What a proxy knows a user by.
    public struct Credentials: Sendable, Hashable {
        /// The user's name, without a colon.
        public var user: String
        /// The password.
        public var password: String

        /// A user and the password.
        ///
        /// - Parameters:
        ///   - user: The user's name, without a colon.
        ///   - password: The password.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// Names a proxy.
    ///
    /// - Parameters:
    ///   - host: A name or an address; an IPv6 address without brackets.
    ///   - port: The TCP port.
    ///   - credentials: Who asks, if the proxy wants to know.
    public init(host: String, port: UInt16, credentials: Credentials? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// Reads `http://[USER:PASSWORD@]HOST[:PORT]`.
    ///
    /// Without a port it is 80. The scheme may be left out; any other is refused, since the
    /// connection to the proxy is neither TLS nor SOCKS. User and password are percent-decoded.
    ///
    /// - Parameter url: The proxy's URL.
    /// - Throws: What is wrong with it; a password is not repeated.
    public init(_ url: String) throws(InvalidOption) {
        self = try ProxyURL.read(url, called: "the proxy's URL")
    }
}

extension HTTPProxy: CustomStringConvertible, CustomReflectable {
    /// The proxy's URL, without the password.
    public var description: String { address.description }

    /// The proxy as the rooms below know it.
    var address: ProxyAddress {
        ProxyAddress(
            host: host,
            port: port,
            user: credentials?.user,
            password: credentials?.password ?? ""
        )
    }

    /// What a debugger shows: all but the password.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
