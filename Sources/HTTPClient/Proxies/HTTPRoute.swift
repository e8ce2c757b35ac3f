/// The route from a client to its server.
package enum HTTPRoute: Sendable, Hashable {
    /// The system's settings on Apple platforms; elsewhere without a proxy.
    case system
    /// Without a proxy, whatever the system's settings are.
    case direct
    /// Through this proxy, with or without TLS.
    case proxy(ProxyAddress)

    /// The proxy, if this is one.
    package var proxy: ProxyAddress? {
        if case .proxy(let proxy) = self { proxy } else { nil }
    }
}

/// A proxy that opens tunnels (CONNECT, RFC 9110 §9.3.6), with optional credentials.
package struct ProxyAddress: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// A host name or an IP address; an IPv6 address without brackets.
    package let host: String
    /// The TCP port.
    package let port: UInt16
    /// The user (RFC 7617), without a colon; `nil` for none.
    package let user: String?
    /// The user's password.
    package let password: String

    /// Creates a proxy address; an IPv6 address is without brackets, and `user` is `nil` for no credentials.
    package init(host: String, port: UInt16, user: String? = nil, password: String = "") {
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }

    /// The proxy's URL, without the password.
    package var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return "http://\(user.map { "\($0):…@" } ?? "")\(name):\(port)"
    }

    /// A mirror without the password.
    package var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
