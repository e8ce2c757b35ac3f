import Broker
import Net
import PusherProtocol

/// When a shard tells the subscribers of the channels whose home it is how many they are.
///
/// Its timer runs only while a large channel waits for its turn.
final class CountPace: TimerTarget {
    /// How late the notice of a large channel may be.
    private static let lookInterval = Duration.seconds(1)

    private var notices = CountNotices()
    private unowned let core: ShardCore
    private var isWaiting = false

    /// Makes the pace of a core that has told nothing yet.
    init(of core: ShardCore) { self.core = core }

    /// Whether no channel waits for its turn.
    var isAtRest: Bool { notices.isEmpty && !isWaiting }

    /// Takes in that a channel's count has changed; returns whether to tell it now.
    func changed(_ address: ChannelAddress, to count: Int) -> Bool {
        defer { waitForMore() }
        return notices.changed(address, to: count, at: core.reactor.milliseconds)
    }

    private func waitForMore() {
        guard !isWaiting, !notices.isEmpty else { return }
        isWaiting = true
        core.reactor.schedule(after: CountPace.lookInterval, self)
    }

    func timerFired(tag: Int) {
        isWaiting = false
        for address in notices.due(at: core.reactor.milliseconds) {
            core.announceCount(at: address)
        }
        waitForMore()
    }
}

/// How many subscribers a channel has, as they themselves are told (Pusher documentation, "Subscription count").
extension ShardCore {
    /// Tells the subscribers that they are one more or less, now or when it is their channel's turn.
    func countChanged(of channel: Channel, at address: ChannelAddress) {
        guard tellsCount(of: address) else { return }
        let count = channel.attendance.count
        if countPace.changed(address, to: count) {
            announce(count, on: channel, at: address)
        } else if count == 0 {
            tell(.subscriptionCount(0), on: address)
        }
    }

    /// Tells the subscribers how many they are, as long as there are any.
    func announceCount(at address: ChannelAddress) {
        guard let channel = channels[address], tellsCount(of: address) else { return }
        announce(channel.attendance.count, on: channel, at: address)
    }

    private func announce(_ count: Int, on channel: Channel, at address: ChannelAddress) {
        tell(.subscriptionCount(count), on: address)
        let notice = ServerMessage.subscriptionCount(channel: address.name.text, count: count)
        announce(notice, on: channel, at: address)
    }

    /// Whether the subscribers of a channel are told: a presence channel has its members, a user's own channel nobody.
    private func tellsCount(of address: ChannelAddress) -> Bool {
        guard registry.tellsCounts, !address.name.kind.isPresence,
            address.name.kind != .serverToUser
        else { return false }
        return registry.apps[address.app]?.features.subscriptionCount == true
    }
}
