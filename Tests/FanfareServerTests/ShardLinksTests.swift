import Broker
import Net
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("The links between shards") struct ShardLinksTests {
    @Test("Messages arrive in order, after a dispatch, at their shard")
    func arriveInOrder() throws {
        let mailboxes = try (0..<3).map { _ in Mailbox<ShardMessage>(wakes: try EventLoop()) }
        var speaker = ShardLinks(of: 0, mailboxes: mailboxes)
        let hearer = ShardLinks(of: 2, mailboxes: mailboxes)
        for query in 1...3 { speaker.send(.answer(.success([]), id: UInt64(query)), to: 2) }
        #expect(hearer.read().isEmpty)
        speaker.dispatch()
        #expect(hearer.read().map(query) == [1, 2, 3])
        #expect(ShardLinks(of: 1, mailboxes: mailboxes).read().isEmpty)
    }

    @Test("Only events count as backlog")
    func countEvents() throws {
        let mailboxes = try (0..<2).map { _ in Mailbox<ShardMessage>(wakes: try EventLoop()) }
        var speaker = ShardLinks(of: 0, mailboxes: mailboxes)
        let hearer = ShardLinks(of: 1, mailboxes: mailboxes)
        let address = ChannelAddress(app: AppID("1"), name: try ChannelName("private-a"))
        let event = ClientEvent(
            nameToken: Array(#""client-e""#.utf8),
            channel: "private-a",
            dataToken: nil
        )
        let frames = [
            ChannelMessage(
                .clientEvent(event, ClientEventAuthor(socketID: SocketID(1, 1))),
                channel: address.name
            ),
            ChannelMessage(.subscriptionCount(channel: address.name.text, count: 1)),
        ]
        for number in 1...10 as ClosedRange<UInt32> {
            let socketID = SocketID(1, UInt64(number))
            let caller = SubscriptionRequest(shard: 0, socketID: socketID, number: number)
            speaker.send(.subscribe(address, caller), to: 1)
            speaker.send(.unsubscribe(address, shard: 0, socketID), to: 1)
            speaker.send(.fanOut(address, frames[1], except: nil), to: 1)
            speaker.dispatch()
            #expect(!speaker.areBehind(limit: 0))
        }
        speaker.send(.fanOut(address, frames[0], except: nil), to: 1)
        speaker.send(.publishClientEvent(address, event, sender: SocketID(1, 1)), to: 1)
        #expect(!speaker.areBehind(limit: 0))
        speaker.dispatch()
        #expect(speaker.areBehind(limit: 1) && !speaker.areBehind(limit: 2))
        #expect(hearer.read().count == 32)
        #expect(!speaker.areBehind(limit: 0))
    }

    @Test("With separate mailboxes, messages are delivered by the test")
    func canBeHeldUp() throws {
        let lines = try (0..<2).map { _ in Mailbox<ShardMessage>(wakes: try EventLoop()) }
        let inbox = Mailbox<ShardMessage>(wakes: try EventLoop())
        var speaker = ShardLinks(of: 0, speakingInto: lines, hearing: lines[0])
        let hearer = ShardLinks(of: 1, speakingInto: lines, hearing: inbox)
        speaker.send(.answer(.success([]), id: 1), to: 1)
        speaker.dispatch()
        #expect(hearer.read().isEmpty)
        #expect(lines[1].count == 1)
        inbox.post(lines[1].drain())
        #expect(hearer.read().map(query) == [1])
    }

    private func query(of message: ShardMessage) -> QueryID? {
        if case .answer(_, let query) = message { query } else { nil }
    }
}
