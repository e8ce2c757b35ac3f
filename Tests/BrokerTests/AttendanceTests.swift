import PusherProtocol
import Testing

@testable import Broker

private func address(_ name: String, app: String = "1") throws -> ChannelAddress {
    ChannelAddress(app: AppID(app), name: try ChannelName(name))
}

@Suite("The home of a channel") struct ChannelHomeTests {
    @Test func countsSubscriptionsByShard() throws {
        var home = ChannelHome(shardCount: 3)
        let channel = try address("userslist")
        let wasVacant = [2, 2, 0].map { home.subscribe(channel, from: $0) }
        #expect(wasVacant == [true, false, false])
        #expect(home.subscriptionCount(of: channel) == 3)
        #expect(shards(of: channel, in: home) == [0, 2])
    }

    @Test func aShardWithoutSubscribersGetsNothing() throws {
        var home = ChannelHome(shardCount: 2)
        let channel = try address("userslist")
        home.subscribe(channel, from: 0)
        home.subscribe(channel, from: 1)
        let isVacantAfterTheFirst = home.unsubscribe(channel, from: 0)
        #expect(!isVacantAfterTheFirst)
        #expect(shards(of: channel, in: home) == [1])
        let isVacantAfterTheSecond = home.unsubscribe(channel, from: 1)
        #expect(isVacantAfterTheSecond)
        #expect(shards(of: channel, in: home) == [])
    }

    @Test func appsShareNothing() throws {
        var home = ChannelHome(shardCount: 1)
        home.subscribe(try address("chat", app: "1"), from: 0)
        #expect(home.subscriptionCount(of: try address("chat", app: "2")) == 0)
        #expect(home.occupiedChannels(of: AppID("2"), prefix: "").isEmpty)
    }

    @Test func occupiedChannelsByPrefix() throws {
        var home = ChannelHome(shardCount: 1)
        for name in ["chat-1", "chat-2", "collabo"] { home.subscribe(try address(name), from: 0) }
        home.unsubscribe(try address("chat-2"), from: 0)
        #expect(
            home.occupiedChannels(of: AppID("1"), prefix: "chat-").map(\.name.text) == ["chat-1"]
        )
        #expect(
            home.occupiedChannels(of: AppID("1"), prefix: "").map(\.name.text).sorted()
                == ["chat-1", "collabo"]
        )
    }

    private func shards(of channel: ChannelAddress, in home: ChannelHome) -> [Int] {
        var shards: [Int] = []
        home.forEachShard(subscribedTo: channel) { shards.append($0) }
        return shards
    }
}

@Suite("The shard that is home to a channel") struct ChannelAddressTests {
    @Test func staysTheSame() throws {
        // Golden: a broker of another build must agree when simulations are repeated.
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
