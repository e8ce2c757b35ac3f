import Broker
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("The channels of a shard") struct ChannelTableTests {
    private func address(_ name: String, app: String = "1") throws -> ChannelAddress {
        ChannelAddress(app: AppID(app), name: try ChannelName(name))
    }

    private func occupied(_ table: ChannelTable, app: String = "1", prefix: String) -> [String] {
        table.answer(.occupiedChannels(AppID(app), prefix: prefix)).map(\.name.text).sorted()
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
        table.open(try address("chat")).attendance.join(from: 0)
        #expect(table[try address("chat", app: "2")] == nil)
        #expect(occupied(table, prefix: "") == ["chat"])
        #expect(occupied(table, app: "2", prefix: "") == [])
    }

    @Test func listsWhatIsOccupiedAndBeginsWithThePrefix() throws {
        var table = ChannelTable(shard: 0)
        for name in ["chat-1", "chat-2", "collabo"] {
            table.open(try address(name)).attendance.join(from: 1)
        }
        // At home elsewhere: subscribers of this shard alone do not make it this shard's to list.
        _ = table.open(try address("chat-3"))
        table[try address("chat-2")]?.attendance.leave(from: 1)
        #expect(occupied(table, prefix: "chat-") == ["chat-1"])
        #expect(occupied(table, prefix: "") == ["chat-1", "collabo"])
    }

    @Test func countsVacantChannelsToo() throws {
        var table = ChannelTable(shard: 0)
        table.open(try address("chat")).attendance.join(from: 0)
        let counts = table.answer(.counts([try address("chat"), try address("void")]))
        #expect(counts.map(\.subscriptionCount) == [1, 0])
    }
}
