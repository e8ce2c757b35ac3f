import HTTPClient

/// Where a broker's HTTP API is: `http://127.0.0.1:6001`, `https://push.example.com/prefix`.
public struct BrokerAddress: Hashable, Sendable {
    let address: HTTPAddress
    /// Whether the connection is encrypted.
    public var isSecure: Bool { address.isSecure }
    /// A host name or an IP address, without brackets.
    public var host: String { address.host }
    /// The port; 80 or 443 unless the address names another.
    public var port: UInt16 { address.port }
    /// What stands in front of `/apps`, without a slash at its end; mostly empty.
    public var pathPrefix: String { address.pathPrefix }

    /// Takes an address apart.
    ///
    /// - Parameter url: An `http` or `https` URL of a host, with a port and a path where needed, and nothing else.
    /// - Throws: `.invalidURL`.
    public init(_ url: String) throws(FanfareAPIError) {
        do throws(HTTPFailure) {
            address = try HTTPAddress(url)
        } catch {
            throw FanfareAPIError(error)
        }
    }
}
