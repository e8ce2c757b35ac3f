import Broker
import HTTP1
import Net
import PusherProtocol

/// How many clients may come in, and how fast: of the whole process, and of each address.
///
/// All shards share it. Nobody's address is asked for where it would decide nothing: as long as there is room, and no
/// limit by address is configured.
package final class AdmissionControl: Sendable {
    private let connections: ConnectionQuota
    private let arrivals: SharedTokenBucket?
    private let addresses: PerAddressLimiter
    private let proxies: TrustedProxies
    /// From how many connections on the address of the next one is entered.
    private let enteringCount: Int
    /// From how many connections on an address may have no more than its share.
    private let sharingCount: Int

    init(_ configuration: Configuration) {
        let admission = configuration.admission
        let limit = configuration.connectionsMax ?? DescriptorLimit.current
        connections = ConnectionQuota(limit: configuration.connectionsMax ?? .max)
        arrivals = admission.newConnectionsPerSecondMax.map {
            SharedTokenBucket(Rate(perSecond: $0))
        }
        proxies = TrustedProxies(admission.trustedProxies)
        let rate = admission.newConnectionsPerAddressPerSecondMax.map(Rate.init)
        // One address must not be able to take all that there is, unless somebody says so.
        addresses = PerAddressLimiter(
            connectionsMax: admission.connectionsPerAddressMax ?? max(100, limit / 4),
            arrivalRate: rate
        )
        sharingCount = admission.connectionsPerAddressMax == nil ? limit / 2 : 0
        enteringCount = rate == nil ? sharingCount : 0
    }

    /// Lets a client in.
    ///
    /// - Parameters:
    ///   - stream: Its connection.
    ///   - head: Its request.
    ///   - now: The time in nanoseconds.
    /// - Returns: What ``leave(_:)`` takes when the client has gone; `nil` where no limit by address holds.
    /// - Throws: The limit that is met; then nothing is taken.
    func enter(_ stream: Stream, _ head: RequestHead, at now: Int64) throws(ConnectionRefusal)
        -> ClientAddress?
    {
        guard connections.take() else {
            throw ConnectionRefusal(.overCapacity, meeting: .connections)
        }
        do throws(ConnectionRefusal) {
            // The address first: who is over a limit of their own takes nothing from the others.
            let address = try enterAddress(stream, head, at: now)
            guard arrivals?.take(at: now) ?? true else {
                if let address { addresses.leave(address) }
                throw ConnectionRefusal(.overCapacity, meeting: .newConnections)
            }
            return address
        } catch {
            connections.giveBack()
            throw error
        }
    }

    private func enterAddress(_ stream: Stream, _ head: RequestHead, at now: Int64)
        throws(ConnectionRefusal) -> ClientAddress?
    {
        // This one is among those that are counted.
        let count = connections.takenCount
        guard count > enteringCount,
            let address = proxies.client(of: stream.remoteAddress(), head)
        else { return nil }
        if let limit = addresses.enter(address, at: now, isCounted: count > sharingCount) {
            throw ConnectionRefusal(.overCapacity, meeting: limit)
        }
        return address
    }

    /// Whether nobody is inside.
    package var isEmpty: Bool { connections.isUnused }

    /// Takes in that a client has gone.
    func leave(_ address: ClientAddress?) {
        connections.giveBack()
        if let address { addresses.leave(address) }
    }
}
