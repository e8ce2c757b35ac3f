import PusherProtocol
import Testing

@testable import Broker

private func address(_ name: String, app: String = "1") throws -> ChannelAddress {
    ChannelAddress(app: AppID(app), name: try ChannelName(name))
}

@Suite("The attendance of a channel") struct SubscriberCountsTests {
    @Test func countsSubscriptionsByShard() {
        var attendance = SubscriberCounts(home: 1)
        #expect(attendance.isVacant && attendance.count == 0)
        for shard in [2, 2, 1, 0] { attendance.join(from: shard) }
        #expect(attendance.count == 4 && !attendance.isVacant)
        #expect(attendance.shardsElsewhere.sorted() == [0, 2])
    }

    @Test func aShardWithoutSubscribersGetsNothing() {
        var attendance = SubscriberCounts(home: 0)
        for shard in [0, 1, 1] { attendance.join(from: shard) }
        attendance.leave(from: 0)
        attendance.leave(from: 1)
        #expect(attendance.shardsElsewhere == [1] && !attendance.isVacant)
        attendance.leave(from: 1)
        #expect(attendance.shardsElsewhere == [] && attendance.isVacant)
    }

    @Test func noMoreLeaveThanHaveJoined() async {
        await #expect(processExitsWith: .failure) {
            var attendance = SubscriberCounts(home: 0)
            attendance.join(from: 1)
            attendance.leave(from: 0)
        }
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
