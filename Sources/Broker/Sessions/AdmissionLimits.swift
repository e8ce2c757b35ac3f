/// The limits of connections before they are authenticated.
public struct AdmissionLimits: Sendable, Hashable {
    /// The addresses or address ranges of the proxies whose `X-Forwarded-For` is trusted.
    public var trustedProxies = ["127.0.0.0/8", "::1"]
    /// The maximum number of connections of one address, which is an IPv4 address or an IPv6 /64; `nil` for no
    /// limit until half of all connections are taken, then a quarter of all, and at least 100.
    public var connectionsPerAddressMax: Int?
    /// The maximum number of new connections per second; `nil` for no limit.
    public var newConnectionsPerSecondMax: Int?
    /// The maximum number of new connections of one address per second; `nil` for no limit.
    public var newConnectionsPerAddressPerSecondMax: Int?
    /// The maximum number of connections that are in their handshake, or carry HTTP alone.
    public var handshakesMax = 4_096

    /// Creates the defaults.
    public init() {}
}
