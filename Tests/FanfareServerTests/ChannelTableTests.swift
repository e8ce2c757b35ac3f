import Broker
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("The channels of a shard") struct ChannelTableTests {
    private func address(_ name: String, app: String = "1") throws -> ChannelAddress {
        ChannelAddress(app: AppID(app), name: try ChannelName(name))
    }

    /// The names of the channels that are listed.
    private func occupied(_ table: ChannelTable, app: String = "1", prefix: String) -> [String] {
        let range = ChannelRange(
            app: AppID(app),
            prefix: prefix,
            cursor: "",
            info: [],
            limit: 100
        )
        return table.portion(of: range).entries.map(\.name.text)
    }

    /// Subscribes a connection of shard 1 to channels whose home is here.
    private func occupy(_ table: inout ChannelTable, _ names: String..., app: String = "1") throws {
        for name in names {
            let address = try address(name, app: app)
            var state = HomeShardState()
            _ = table.open(address).home.subscribe(
                Subscriber(SocketID(1, 1), shard: 1),
                to: address,
                of: nil,
                sharing: &state,
                at: 0
            )
            table.becameOccupied(address)
        }
    }

    @Test func opensAChannelOnce() throws {
        var table = ChannelTable(shard: 0)
        let channel = table.open(try address("chat"))
        #expect(table.open(try address("chat")) === channel)
        #expect(table[try address("chat")] === channel)
        table.close(try address("chat"))
        #expect(table[try address("chat")] == nil)
    }

    @Test func appsShareNothing() throws {
        var table = ChannelTable(shard: 0)
        try occupy(&table, "chat")
        #expect(table[try address("chat", app: "2")] == nil)
        #expect(occupied(table, prefix: "") == ["chat"])
        #expect(occupied(table, app: "2", prefix: "") == [])
        try occupy(&table, "news", app: "2")
        #expect(table.occupiedCount == 2)
    }

    @Test func listsWhatIsOccupiedAndBeginsWithThePrefix() throws {
        var table = ChannelTable(shard: 0)
        try occupy(&table, "chat-1", "collabo", "chat-2", "#server-to-user-ann")
        // With its home elsewhere: this shard does not list a channel because of its own subscribers.
        _ = table.open(try address("chat-3"))
        #expect(table.occupiedCount == 4)
        #expect(occupied(table, prefix: "chat-") == ["chat-1", "chat-2"])
        table.becameVacant(try address("chat-2"))
        #expect(occupied(table, prefix: "chat-") == ["chat-1"])
        #expect(occupied(table, prefix: "") == ["chat-1", "collabo"])
        #expect(table.occupiedCount == 3)
    }

    @Test func goesOnBehindTheCursor() throws {
        var table = ChannelTable(shard: 0)
        try occupy(&table, "a", "c", "d", "e")
        var range = ChannelRange(
            app: AppID("1"),
            prefix: "",
            cursor: "b",
            info: .subscriptionCount,
            limit: 2
        )
        let portion = table.portion(of: range)
        #expect(portion.entries.map(\.name.text) == ["c", "d"])
        #expect(portion.entries.map(\.subscriptionCount) == [1, 1])
        #expect(!portion.isComplete && portion.occupiedCount == 4)
        range.cursor = "d"
        #expect(table.portion(of: range).entries.map(\.name.text) == ["e"])
        #expect(table.portion(of: range).isComplete)
    }
}
