/// How a client gets through to its server.
package enum HTTPRoute: Sendable, Hashable {
    /// As the system is set up: on Apple platforms by its settings; elsewhere without a proxy.
    case system
    /// Without a proxy, whatever the system's settings say.
    case direct
    /// By this proxy, with TLS and without.
    case proxy(ProxyAddress)

    /// The proxy, where this names one.
    package var proxy: ProxyAddress? {
        if case .proxy(let proxy) = self { proxy } else { nil }
    }
}

/// A proxy that opens tunnels (CONNECT, RFC 9110 §9.3.6), and who asks it to.
package struct ProxyAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address; an IPv6 address without brackets.
    package let host: String
    /// The TCP port.
    package let port: UInt16
    /// Who asks (RFC 7617), without a colon; `nil` for nobody in particular.
    package let user: String?
    /// That user's password.
    package let password: String

    /// Names a proxy.
    ///
    /// - Parameters:
    ///   - host: A name or an address; an IPv6 address without brackets.
    ///   - port: The TCP port.
    ///   - user: Who asks; `nil` for nobody in particular.
    ///   - password: That user's password.
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
}
