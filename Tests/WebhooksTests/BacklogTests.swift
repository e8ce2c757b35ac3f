import TestRandom
import Testing

@testable import Webhooks

@Suite("The queue of an endpoint") struct BacklogTests {
    private func delivery(_ id: Int64, _ channels: [String], length: Int = 10) -> Delivery {
        Delivery(
            id: id,
            endpoint: EndpointKey(app: appID, url: "", ordinal: 0),
            time: 0,
            events: [UInt8](repeating: 0, count: length),
            channels: channels
        )
    }

    /// A backlog as a class, because `#expect` takes no mutating calls.
    private final class Shared {
        private var backlog: Backlog

        init(_ backlog: Backlog) { self.backlog = backlog }

        var count: Int { backlog.count }
        var nextDue: Int64? { backlog.nextDue }
        var arrivalCount: Int? {
            (Mirror(reflecting: backlog).descendant("arrivals") as? [Int64])?.count
        }
        func append(_ delivery: Delivery) -> [Int64] {
            backlog.append(delivery, at: 0).map(\.id)
        }
        func isBusy(at now: Int64 = 0) -> Bool { backlog.isBusy(at: now) }
        func next(at now: Int64 = 0) -> Delivery? { backlog.next(at: now) }
        func postpone(_ id: Int64, until due: Int64) { backlog.postpone(id, until: due) }
        func remove(_ id: Int64) { backlog.remove(id, at: 0) }
        func removeWaiting() -> [Int64] { backlog.removeWaiting().map(\.id) }

        /// Returns all webhooks that may be sent.
        func ready(at now: Int64 = 0) -> [Int64] {
            var ids: [Int64] = []
            while let delivery = backlog.next(at: now) { ids.append(delivery.id) }
            return ids
        }
    }

    private func backlog(
        _ deliveries: [(Int64, [String])] = [],
        countMax: Int = 100,
        lengthMax: Int = .max,
        sendsMax: Int = 100
    ) -> Shared {
        let backlog = Shared(
            Backlog(countMax: countMax, lengthMax: lengthMax, sendsMax: sendsMax)
        )
        for (id, channels) in deliveries { _ = backlog.append(delivery(id, channels)) }
        return backlog
    }

    @Test func oneWebhookPerChannelIsInFlight() {
        let backlog = backlog([(1, ["a"]), (2, ["a"]), (3, ["b"])])
        #expect(backlog.ready() == [1, 3])
        backlog.remove(1)
        #expect(backlog.ready() == [2])
    }

    @Test("A backlog is busy if more webhooks are due than may be in flight")
    func busy() {
        let backlog = backlog([(1, ["a"]), (2, ["b"])], sendsMax: 2)
        #expect(!backlog.isBusy())
        _ = backlog.append(delivery(3, ["a"]))
        #expect(!backlog.isBusy(), "it waits for the one before it on its channel")
        _ = backlog.append(delivery(4, ["c"]))
        #expect(backlog.isBusy(), "three could leave")
        #expect(backlog.ready() == [1, 2])
        #expect(backlog.isBusy(), "one waits, two are under way")
        backlog.postpone(1, until: 1_000)
        #expect(backlog.ready() == [4])
        #expect(!backlog.isBusy(at: 999))
        #expect(backlog.isBusy(at: 1_000), "its retry is due")
    }

    @Test func aFailureBlocksItsChannelAlone() {
        let backlog = backlog([(1, ["a"]), (2, ["a"]), (3, ["b"])])
        #expect(backlog.ready() == [1, 3])
        backlog.postpone(1, until: 1_000)
        backlog.remove(3)
        #expect(backlog.ready(at: 999) == [])
        #expect(backlog.nextDue == 1_000)
        let again = backlog.next(at: 1_000)
        #expect(again?.id == 1)
        #expect(again?.attempts == 2)
    }

    @Test func aBatchWaitsForAllItsChannels() {
        let backlog = backlog([(1, ["a"]), (2, ["b"]), (3, ["a", "b"]), (4, ["b"]), (5, ["c"])])
        #expect(backlog.ready() == [1, 2, 5])
        backlog.remove(1)
        #expect(backlog.ready() == [])
        backlog.remove(2)
        #expect(backlog.ready() == [3])
        backlog.remove(3)
        #expect(backlog.ready() == [4])
    }

    @Test func limitsConcurrentSends() {
        let backlog = backlog([(1, ["a"]), (2, ["b"]), (3, ["c"])], sendsMax: 2)
        #expect(backlog.ready() == [1, 2])
        #expect(backlog.nextDue == nil)
        backlog.postpone(1, until: 5)
        #expect(backlog.ready() == [3])
        backlog.remove(2)
        #expect(backlog.ready(at: 5) == [1])
    }

    @Test func theOldestMakeRoomButNotWhatIsUnderWay() {
        let backlog = backlog([(1, ["a"]), (2, ["a"]), (3, ["b"])], countMax: 3)
        #expect(backlog.next()?.id == 1)
        #expect(backlog.append(delivery(4, ["a"])) == [2])
        #expect(backlog.append(delivery(5, ["a"])) == [3])
        backlog.remove(1)
        #expect(backlog.ready() == [4])
    }

    @Test func theLengthIsBoundedToo() {
        let backlog = backlog([(1, ["a"]), (2, ["b"])], lengthMax: 30)
        #expect(backlog.append(delivery(3, ["c"], length: 20)) == [1])
        // One that is longer than the limit is still sent alone.
        #expect(backlog.append(delivery(4, ["d"], length: 99)) == [2, 3])
        #expect(backlog.ready() == [4])
    }

    @Test func waitingWebhooksCanBeRemoved() {
        let backlog = backlog([(1, ["a"]), (2, ["a"]), (3, ["b"]), (4, ["c", "a"])], sendsMax: 1)
        #expect(backlog.ready() == [1])
        #expect(backlog.removeWaiting() == [2, 3, 4])
        #expect(backlog.count == 1)
        backlog.remove(1)
        #expect(backlog.count == 0)
        #expect(backlog.nextDue == nil)
    }

    /// Compares the backlog with a linear search over random operations.
    @Test func isLikeASearchFromTheFront() {
        for seed in 0..<200 {
            var random = SeededRandom(seed: UInt64(seed))
            let backlog = backlog(sendsMax: 3)
            var list: [(delivery: Delivery, isSending: Bool)] = []
            for id in 1...60 {
                let channels = ["a", "b", "c", "d"].filter { _ in Bool.random(using: &random) }
                let new = delivery(Int64(id), channels.isEmpty ? ["e"] : channels)
                _ = backlog.append(new)
                list.append((new, false))
                while list.filter(\.isSending).count < 3 {
                    let expected = list.indices.first { index in
                        !list[index].isSending
                            && list[..<index].allSatisfy {
                                Set($0.delivery.channels)
                                    .isDisjoint(with: list[index].delivery.channels)
                            }
                    }
                    let next = backlog.next()
                    #expect(next?.id == expected.map { list[$0].delivery.id }, "seed \(seed)")
                    guard let expected, next != nil else { break }
                    list[expected].isSending = true
                }
                if let done = list.indices.filter({ list[$0].isSending })
                    .randomElement(using: &random)
                {
                    backlog.remove(list[done].delivery.id)
                    list.remove(at: done)
                }
                #expect(backlog.count == list.count, "seed \(seed)")
            }
        }
    }

    @Test func aStuckWebhookDoesNotBlockCompaction() {
        let backlog = backlog([(1, ["stuck"])])
        #expect(backlog.ready() == [1])
        for id in 2...10_000 {
            _ = backlog.append(delivery(Int64(id), ["a"]))
            #expect(backlog.next()?.id == Int64(id))
            backlog.remove(Int64(id))
        }
        #expect((backlog.arrivalCount ?? .max) < 1_000)
    }
}
