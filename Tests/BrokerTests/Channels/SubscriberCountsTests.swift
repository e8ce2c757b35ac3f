import PusherProtocol
import Testing

@testable import Broker

private func address(_ name: String, app: String = "1") throws -> ChannelAddress {
    ChannelAddress(app: AppID(app), name: try ChannelName(name))
}

@Suite("The subscribers of a channel, by shard") struct SubscriberCountsTests {
    @Test func countsSubscriptionsByShard() {
        var counts = SubscriberCounts(home: 1)
        #expect(counts.isEmpty && counts.total == 0)
        for shard in [2, 2, 1, 0] { counts.add(from: shard) }
        #expect(counts.total == 4 && !counts.isEmpty)
        #expect(counts.otherShards.sorted() == [0, 2])
    }

    @Test func aShardWithoutSubscribersGetsNothing() {
        var counts = SubscriberCounts(home: 0)
        for shard in [0, 1, 1] { counts.add(from: shard) }
        counts.remove(from: 0)
        counts.remove(from: 1)
        #expect(counts.otherShards == [1] && !counts.isEmpty)
        counts.remove(from: 1)
        #expect(counts.otherShards == [] && counts.isEmpty)
    }

    @Test func neverCountsBelowZero() async {
        await #expect(processExitsWith: .failure) {
            var counts = SubscriberCounts(home: 0)
            counts.add(from: 1)
            counts.remove(from: 0)
        }
    }
}

@Suite("The home shard of a channel") struct ChannelAddressTests {
    @Test func staysTheSame() throws {
        // A golden value: simulations must be repeatable with another build.
        #expect(try address("userslist").home(among: 2) == address("userslist").home(among: 2))
        #expect(try address("userslist").home(among: 1) == 0)
    }

    @Test(arguments: [2, 3, 8])
    func spreadsChannels(shardCount: Int) throws {
        var channels = Array(repeating: 0, count: shardCount)
        for number in 0..<1_000 {
            channels[try address("room-\(number)").home(among: shardCount)] += 1
        }
        #expect(channels.allSatisfy { $0 > 800 / shardCount })
    }
}
