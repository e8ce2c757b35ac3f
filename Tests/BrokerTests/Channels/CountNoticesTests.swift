import PusherProtocol
import Testing

@testable import Broker

/// A class, because `#expect` takes no mutating calls.
private final class Notices {
    private var notices = CountNotices()
    private let channel: ChannelAddress
    init(of channel: ChannelAddress) { self.channel = channel }

    func changed(to count: Int, at now: Int64) -> Bool {
        notices.changed(channel, to: count, at: now)
    }

    var isEmpty: Bool { notices.isEmpty }

    func due(at now: Int64) -> [ChannelAddress] { notices.due(at: now) }
}

@Suite("The schedule of subscriber counts") struct CountNoticesTests {
    private let channel: ChannelAddress
    private let notices: Notices

    init() throws {
        channel = ChannelAddress(app: AppID("1"), name: try ChannelName("a"))
        notices = Notices(of: channel)
    }

    @Test func aSmallChannelAnnouncesEachChange() {
        for count in [1, 2, 100, 99, 1] {
            let isTold = notices.changed(to: count, at: 0)
            #expect(isTold)
        }
        let isTold = notices.changed(to: 0, at: 0)
        #expect(!isTold, "no subscriber is left")
        #expect(notices.isEmpty)
        #expect(notices.due(at: 100_000).isEmpty)
    }

    @Test func aLargeOneIsToldEveryFiveSecondsAndTheLastCountAlways() {
        #expect(notices.changed(to: 101, at: 0))
        #expect(!notices.changed(to: 102, at: 1))
        #expect(!notices.changed(to: 103, at: 4_999))
        #expect(notices.due(at: 4_999).isEmpty)
        #expect(notices.due(at: 5_000) == [channel])
        #expect(!notices.changed(to: 104, at: 6_000))
        #expect(notices.due(at: 10_000) == [channel])
        #expect(!notices.isEmpty)
        #expect(notices.due(at: 15_000).isEmpty)
        #expect(notices.isEmpty)
        #expect(notices.changed(to: 105, at: 15_001))
    }

    @Test func aChannelThatIsSmallAgainAnnouncesAtOnce() {
        #expect(notices.changed(to: 101, at: 0))
        #expect(!notices.changed(to: 102, at: 1))
        #expect(notices.changed(to: 100, at: 2))
        #expect(notices.due(at: 9_000).isEmpty)
    }
}
