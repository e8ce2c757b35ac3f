package import Broker
package import HTTP1
package import Logging
package import Net
import Primitives
import PusherProtocol

/// The limits of connections and of new connections, for the process and for each address.
///
/// Shared by all shards. A client's address is determined only where a limit depends on it: when many connections are
/// open, or a limit per address is configured.
package final class AdmissionControl: Sendable {
    private let connections: ConnectionQuota
    private let arrivals: SharedTokenBucket?
    private let addresses: PerAddressLimiter
    private let proxies: TrustedProxies
    /// The number of connections from which on addresses are counted.
    private let countingThreshold: Int
    /// The number of connections from which on the limit per address applies.
    private let limitThreshold: Int

    /// Creates the limits without a connection.
    ///
    /// - Parameters:
    ///   - limits: The limits of connections before they are authenticated.
    ///   - connectionsMax: The maximum number of connections of the process; `nil` for the limit of open descriptors.
    ///   - log: Gets a warning about proxies that name no address.
    package init(_ limits: AdmissionLimits, connectionsMax: Int?, log: Logger?) {
        let limit = connectionsMax ?? DescriptorLimit.current
        connections = ConnectionQuota(limit: connectionsMax ?? .max)
        arrivals = limits.newConnectionsPerSecondMax.map {
            SharedTokenBucket(Rate(perSecond: $0))
        }
        let pace = LogPace()
        proxies = TrustedProxies(limits.trustedProxies) { proxy, text in
            guard let log, let omitted = pace.takeLine() else { return }
            log.warning(
                """
                a trusted proxy names its client by no address: all such clients count as one for the limits per \
                address; have it send X-Forwarded-For with an address
                """,
                metadata: [
                    "proxy": "\(proxy)", "x_forwarded_for": "\(text.printable)",
                    "omitted": "\(omitted)",
                ]
            )
        }
        let rate = limits.newConnectionsPerAddressPerSecondMax.map(Rate.init)
        // One address must not be able to use up the whole limit, unless the configuration allows that.
        addresses = PerAddressLimiter(
            connectionsMax: limits.connectionsPerAddressMax ?? max(100, limit / 4),
            arrivalRate: rate
        )
        limitThreshold = limits.connectionsPerAddressMax == nil ? limit / 2 : 0
        countingThreshold = rate == nil ? limitThreshold : 0
    }

    /// Admits a client.
    ///
    /// - Parameters:
    ///   - peer: The peer's address.
    ///   - head: The client's request.
    ///   - now: The time in nanoseconds.
    /// - Returns: The address to pass to ``release(_:)`` when the client has disconnected; `nil` if it is not counted.
    /// - Throws: The limit that is reached; then nothing is counted.
    package func admit(
        _ peer: SocketAddress?,
        _ head: RequestHead,
        at now: Int64
    ) throws(ConnectionRefusal) -> ClientAddress? {
        guard connections.take() else {
            throw ConnectionRefusal(.overCapacity, meeting: .connections)
        }
        do throws(ConnectionRefusal) {
            // The address first: a client over the limit of its address must not consume the rate of the others.
            let address = try admitAddress(peer, head, at: now)
            guard arrivals?.take(at: now) ?? true else {
                if let address { addresses.release(address) }
                throw ConnectionRefusal(.overCapacity, meeting: .newConnections)
            }
            return address
        } catch {
            connections.giveBack()
            throw error
        }
    }

    private func admitAddress(
        _ peer: SocketAddress?,
        _ head: RequestHead,
        at now: Int64
    ) throws(ConnectionRefusal) -> ClientAddress? {
        // The count includes this connection.
        let count = connections.takenCount
        guard count > countingThreshold,
            let address = proxies.client(of: peer, head)
        else { return nil }
        if let limit = addresses.admit(address, at: now, isCounted: count > limitThreshold) {
            throw ConnectionRefusal(.overCapacity, meeting: limit)
        }
        return address
    }

    /// A digest of a client's address, for limits of what its connections leave behind; 0 if it is not known.
    package func addressDigest(of peer: SocketAddress?, _ head: RequestHead) -> UInt32 {
        proxies.client(of: peer, head)?.digest ?? 0
    }

    /// The address of the peer of a request for the log, or that of the client behind a trusted proxy.
    package func addressText(of peer: SocketAddress?, _ head: RequestHead) -> String? {
        guard let peer else { return nil }
        let address = proxies.address(of: peer, head) ?? peer
        return address.port == 0 ? address.ip ?? "\(address)" : "\(address)"
    }

    /// The number of clients.
    package var clientCount: Int { connections.takenCount }

    /// Whether no client is connected.
    package var isEmpty: Bool { connections.isUnused }

    /// Releases what was counted for a client that has disconnected.
    package func release(_ address: ClientAddress?) {
        connections.giveBack()
        if let address { addresses.release(address) }
    }
}
