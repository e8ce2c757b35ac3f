import Broker
import Net
import PusherProtocol
import Redis
import Shard

/// The rules of channels in the form that the scripts need, from the apps' configuration.
final class SharedRules {
    private let partitions: Partitions
    private let shares: KeptShares

    init(_ partitions: Partitions, _ shares: KeptShares) {
        (self.partitions, self.shares) = (partitions, shares)
    }

    private var context: ShardContext { partitions.context }

    /// The rules of a channel.
    subscript(address: ChannelAddress) -> ChannelRules {
        let app = context.registry.apps[address.app]
        return ChannelRules(
            isRecoverable: recovery(of: address, app) != nil,
            announcesCount: ChannelHome.announcesCounts(of: address, app),
            webhooks: reportedChanges(of: address),
            positionsMax: positionsMax(of: app, in: partitions.index(of: address))
        )
    }

    /// The rules of a channel that only Redis knows.
    subscript(channel: ClusterChannel) -> ChannelRules {
        address(of: channel).map { self[$0] } ?? ChannelRules(positionsMax: 1)
    }

    /// The address of a channel that Redis has named; `nil` if its name is longer than the app allows now.
    func address(of channel: ClusterChannel) -> ChannelAddress? {
        let app = AppID(channel.app)
        let limits = context.registry.apps[app]?.limits.texts ?? ProtocolLimits()
        return (try? ChannelName(channel.name, limits: limits))
            .map { ChannelAddress(app: app, name: $0) }
    }

    /// The recovery rule of a channel; `nil` if it has no positions.
    func recovery(of address: ChannelAddress, _ app: App?) -> RecoveryRule? {
        guard let recovery = app?.recovery, recovery.isEnabled else { return nil }
        return recovery.rule(of: address.name)
    }

    /// The same with the present configuration.
    func recovery(of address: ChannelAddress) -> RecoveryRule? {
        recovery(of: address, context.registry.apps[address.app])
    }

    /// The maximum number of streams of an app's channels without subscriptions, in the pool of a partition.
    func positionsMax(of app: App?, in index: Int) -> Int {
        guard let app else { return 1 }
        return shares.share(of: app.recovery.positionsMax, \.streams, of: app.id, in: index)
    }

    /// The time of the oldest messages of a channel that have not expired, in milliseconds since 1970.
    ///
    /// Redis removes expired messages later.
    func keptSince(at address: ChannelAddress) -> Int64 {
        recovery(of: address)
            .map { context.reactor.unixMilliseconds - Int64($0.ageMax) * 1_000 } ?? .min
    }

    /// The maximum number of messages of a channel that one call reads, so that even the longest do not end the
    /// connection.
    func readCountMax(of address: ChannelAddress) -> Int {
        let longest = context.registry.apps[address.app]?.limits.texts.longestData.max ?? 1
        return min(256, max(1, ReadQueue.bytesMax / longest))
    }

    /// The changes of a channel that webhooks report.
    private func reportedChanges(of address: ChannelAddress) -> ChannelRules.Webhooks {
        var changes: ChannelRules.Webhooks = []
        guard address.name.kind != .serverToUser else { return changes }
        for filter in context.registry.webhooks[address.app] ?? [] {
            for kind in filter.kinds where filter.accepts(kind, on: address.name) {
                switch kind {
                // An arrival cancels a departure, so both are recorded.
                case .channelOccupied, .channelVacated: changes.insert(.occupancy)
                case .memberAdded, .memberRemoved: changes.insert(.members)
                case .cacheMiss: changes.insert(.cacheMisses)
                case .subscriptionCount: changes.insert(.counts)
                case .clientEvent: break
                }
            }
        }
        return changes
    }
}
