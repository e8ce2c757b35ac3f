package import Broker
import PusherProtocol

/// The channels with subscribers on one shard, and the channels owned by the shard with subscribers anywhere.
package struct ChannelTable {
    private let shard: Int
    /// Grouped by app, so that the channels of one app do not slow down the queries of another.
    private var apps: [AppID: AppChannels] = [:]
    /// The channels of the app used last, which is often the only app.
    private var latest: AppChannels?
    /// The number of occupied channels whose home is here.
    private(set) var occupiedCount = 0

    /// Creates the empty table of shard number `shard`.
    init(shard: Int) { self.shard = shard }

    /// The number of channels.
    var count: Int { apps.values.reduce(0) { $0 + $1.channels.count } }

    /// The channel at this address; `nil` if there is none.
    package subscript(address: ChannelAddress) -> Channel? { group(of: address.app)?[address.name] }

    /// Returns the channel at this address; creates it if needed.
    package mutating func open(_ address: ChannelAddress) -> Channel {
        let app = group(of: address.app) ?? AppChannels(of: address.app)
        if let channel = app[address.name] { return channel }
        let channel = Channel(address.name, shard: shard)
        app[address.name] = channel
        apps[address.app] = app
        latest = app
        return channel
    }

    /// Removes the channel at this address.
    func close(_ address: ChannelAddress) { group(of: address.app)?[address.name] = nil }

    // MARK: - Occupied channels

    /// Called when a channel whose home is here has its first subscriber.
    package mutating func becameOccupied(_ address: ChannelAddress) {
        occupiedCount += 1
        guard address.name.kind != .serverToUser else { return }
        group(of: address.app)?.occupiedNames.insert(address.name)
    }

    /// Called when a channel whose home is here has lost its last subscriber.
    package mutating func becameVacant(_ address: ChannelAddress) {
        occupiedCount -= 1
        guard address.name.kind != .serverToUser else { return }
        group(of: address.app)?.occupiedNames.remove(address.name)
    }

    /// The names of the app's occupied channels whose home is here, without the users' own channels.
    func occupiedNames(of app: AppID) -> SortedNames {
        group(of: app)?.occupiedNames ?? SortedNames()
    }

    private func group(of app: AppID) -> AppChannels? {
        if let latest, latest.app == app { return latest }
        return apps[app]
    }
}

/// The channels of one app.
private final class AppChannels {
    let app: AppID
    /// Exclusive access is not checked, because every event uses it: a lookup only calls names.
    @exclusivity(unchecked) private(set) var channels = SegmentedDictionary<ChannelName, Channel>()
    var occupiedNames = SortedNames()

    init(of app: AppID) { self.app = app }

    subscript(name: ChannelName) -> Channel? {
        get { channels[name] }
        set { channels[name] = newValue }
    }
}
