import PusherProtocol
import Testing

@testable import Broker

@Suite("Counts of recovery") struct RecoveryCountsTests {
    private let position = ChannelPosition(stream: StreamID(bits: 1), serial: 7)

    @Test("Each reason of a gap is a result of its own")
    func gaps() {
        for reason in [
            RecoveryGap.Reason.unknownStream, .truncated, .tooMuch, .ahead, .notKept,
            .unknownSession, .sharedSession,
        ] {
            let start = SubscriptionStart(position, .gap(RecoveryGap(reason)))
            #expect(RecoveryCounts.Result(start).rawValue == reason.rawValue)
        }
    }

    @Test("New and recovered subscriptions are told apart")
    func results() {
        var start = SubscriptionStart(position, .began)
        #expect(RecoveryCounts.Result(start) == .began)
        start.isRewindComplete = true
        #expect(RecoveryCounts.Result(start) == .opened)
        start.isRewindComplete = false
        #expect(RecoveryCounts.Result(start) == .openedInPart)
        start = SubscriptionStart(position, .recovered(replay: 0))
        #expect(RecoveryCounts.Result(start) == .recovered)
    }

    @Test("Counts add up over shards")
    func sums() {
        var (one, other) = (RecoveryCounts(), RecoveryCounts())
        one.count(SubscriptionStart(position, .recovered(replay: 3)))
        other.count(SubscriptionStart(position, .recovered(replay: 0)))
        other.count(.positions, 4)
        var sum = one
        sum.add(other)
        #expect(sum[.recovered] == 2 && sum[.positions] == 4 && sum[.began] == 0)
    }
}
