import Broker
import PusherProtocol
import Testing

@testable import Cluster
@testable import FanfareServer
@testable import Shard

@Suite("Subscriptions that wait for Redis") struct PendingSubscriptionsTests {
    private func subscription(_ number: UInt64, of user: String? = nil) -> PendingSubscription {
        PendingSubscription(
            request: SubscriptionRequest(shard: 0, socketID: SocketID(number, 1), number: 0),
            member: user.map { Member(id: UserID($0)) },
            position: nil
        )
    }

    private func numbers(_ subscriptions: [PendingSubscription]) -> [UInt64] {
        (0..<10).filter { number in
            subscriptions.contains { $0.request.socketID == SocketID(number, 1) }
        }
    }

    @Test("They keep their order, and each is withdrawn by its connection")
    func order() {
        var pending = PendingSubscriptions()
        pending.append(contentsOf: [5, 2, 8, 1].map { subscription($0) })
        #expect(pending.remove(SocketID(2, 1)) != nil)
        #expect(pending.remove(SocketID(2, 1)) == nil)
        pending.append(subscription(2))
        #expect(pending.count == 4)
        #expect(
            pending.removeAll().map(\.request.socketID) == [5, 8, 1, 2].map { SocketID($0, 1) }
        )
        #expect(pending.isEmpty)
    }

    @Test("The first ones are found, whatever was removed between them")
    func first() {
        var pending = PendingSubscriptions()
        for number in 0..<1_000 { pending.append(subscription(UInt64(number))) }
        for number in 0..<1_000 where number % 10 != 3 {
            _ = pending.remove(SocketID(UInt64(number), 1))
        }
        #expect(pending.first(2).map(\.request.socketID) == [SocketID(3, 1), SocketID(13, 1)])
        #expect(Array(pending.requests).count == 100 && pending.count == 100)
        #expect(pending.first(200).count == 100)
    }

    @Test("A user is found as long as one of its connections waits")
    func users() {
        var pending = PendingSubscriptions()
        pending.append(contentsOf: [
            subscription(1, of: "ann"), subscription(2, of: "bob"), subscription(3, of: "ann"),
        ])
        _ = pending.remove(SocketID(1, 1))
        #expect(pending.contains(UserID("ann")))
        #expect(numbers(pending.removeAll(of: UserID("ann"))) == [3])
        #expect(!pending.contains(UserID("ann")) && pending.contains(UserID("bob")))
        _ = pending.remove(SocketID(2, 1))
        #expect(!pending.contains(UserID("bob")) && pending.isEmpty)
    }

    // With an array the withdrawals compare 10^10 connections: minutes.
    @Test("100,000 of one channel are withdrawn, the last one first", .timeLimit(.minutes(1)))
    func crowd() {
        var pending = PendingSubscriptions()
        for number in 0..<100_000 { pending.append(subscription(UInt64(number))) }
        for number in (0..<100_000).reversed() {
            #expect(pending.remove(SocketID(UInt64(number), 1)) != nil)
        }
        #expect(pending.isEmpty)
    }
}
