import Broker
import PusherProtocol

/// The channels that have subscribers on one shard, and those whose home it is and that have any at all.
struct ChannelTable {
    private let shard: Int
    /// By app first: what one app asks about its channels does not take longer with those of another.
    private var apps: [AppID: AppChannels] = [:]
    /// Those of the app in which a channel was made last: often it is the only app.
    private var latest: AppChannels?
    /// The number of channels whose home is here and that have subscribers, on this shard or another.
    private(set) var occupiedCount = 0

    /// Makes the table of shard number `shard`, without channels.
    init(shard: Int) { self.shard = shard }

    /// The number of channels.
    var count: Int { apps.values.reduce(0) { $0 + $1.channels.count } }

    /// The channel at this address; nil if it is vacant.
    subscript(address: ChannelAddress) -> Channel? { group(of: address.app)?[address.name] }

    /// The channel at this address, made if it is vacant: for somebody who subscribes.
    mutating func open(_ address: ChannelAddress) -> Channel {
        let app = group(of: address.app) ?? AppChannels(of: address.app)
        if let channel = app[address.name] { return channel }
        let channel = Channel(address.name, shard: shard)
        app[address.name] = channel
        apps[address.app] = app
        latest = app
        return channel
    }

    /// Drops the channel at this address.
    func close(_ address: ChannelAddress) { group(of: address.app)?[address.name] = nil }

    // MARK: - Occupied channels

    /// Records that a channel of this table has its first subscriber; its home is here.
    mutating func becameOccupied(_ address: ChannelAddress) {
        occupiedCount += 1
        guard address.name.kind != .serverToUser else { return }
        group(of: address.app)?.occupiedNames.insert(address.name)
    }

    /// Records that a channel of this table has lost its last subscriber.
    mutating func becameVacant(_ address: ChannelAddress) {
        occupiedCount -= 1
        guard address.name.kind != .serverToUser else { return }
        group(of: address.app)?.occupiedNames.remove(address.name)
    }

    /// The names of the app's occupied channels whose home is here, but for users' own channels.
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
    /// Unchecked is the exclusive access, for every event begins with it: to find a name, only names are called.
    @exclusivity(unchecked) private(set) var channels: [ChannelName: Channel] = [:]
    var occupiedNames = SortedNames()

    init(of app: AppID) { self.app = app }

    subscript(name: ChannelName) -> Channel? {
        get { channels[name] }
        set { channels[name] = newValue }
    }
}
