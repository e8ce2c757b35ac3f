import Testing

@testable import Net

@Suite("Waits of a pass for readers") struct ReaderWaitTests {
    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    private func readerWait(_ lags: (ReaderLag, Int32)...) -> ReaderWait {
        var readerWait = ReaderWait()
        for (lag, count) in lags { readerWait.count(lag, count) }
        return readerWait
    }

    @Test(
        "A pass waits for a majority of the reading members after every earlier wait",
        arguments: [(1, 1, 0), (3, 2, 0), (2_000, 1_001, 0), (2_000, 51, 1_900)]
    )
    func most(memberCount: Int, behind: Int32, stalled: Int32) {
        var readerWait = readerWait((.behind, behind), (.stalled, stalled))
        for _ in 0..<2 {
            #expect(readerWait.begin(memberCount: memberCount, at: at(1)) == .seconds(2))
            readerWait.end(at: at(2))
        }
    }

    @Test(
        "A pass waits for a minority from the square root of the reading members on",
        arguments: [(4, 2), (10, 4), (100, 10), (2_000, 45), (8_000, 90)]
    )
    func few(memberCount: Int, least: Int32) {
        var one = readerWait((.behind, least - 1))
        #expect(one.begin(memberCount: memberCount, at: at(1)) == nil)
        var many = readerWait((.behind, least))
        #expect(many.begin(memberCount: memberCount, at: at(1)) == .seconds(1))
    }

    @Test("A pass waits for a single member that is far behind, and for no stalled one")
    func far() {
        var far = readerWait((.farBehind, 1), (.stalled, 500))
        #expect(far.begin(memberCount: 2_000, at: at(1)) == .seconds(1))
        var stalled = readerWait((.stalled, 2_000))
        #expect(stalled.begin(memberCount: 2_000, at: at(1)) == nil)
        #expect(!stalled.isNeeded(memberCount: 2_000))
    }

    @Test("Waits for a minority take at most half of the time")
    func halfOfTheTime() {
        var readerWait = readerWait((.behind, 10))
        #expect(readerWait.begin(memberCount: 100, at: at(1_000)) == .seconds(1))
        readerWait.end(at: at(1_400))
        #expect(readerWait.begin(memberCount: 100, at: at(1_799)) == nil)
        #expect(readerWait.begin(memberCount: 100, at: at(1_800)) == .seconds(1))
    }

    @Test("A wait goes on until fewer members are behind")
    func end() {
        var readerWait = readerWait((.behind, 10))
        #expect(readerWait.isNeeded(memberCount: 100))
        readerWait.count(.behind, -1)
        readerWait.count(.farBehind, 1)
        #expect(readerWait.isNeeded(memberCount: 100))
        readerWait.count(.farBehind, -1)
        #expect(!readerWait.isNeeded(memberCount: 100))
        #expect(readerWait.behindCount == 9 && readerWait.farBehindCount == 0)
    }
}
