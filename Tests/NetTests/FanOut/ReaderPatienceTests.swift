import Testing

@testable import Net

@Suite("How long a walk waits for readers") struct ReaderPatienceTests {
    private func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    private func patience(_ lags: (ReaderLag, Int32)...) -> ReaderPatience {
        var patience = ReaderPatience()
        for (lag, count) in lags { patience.count(lag, count) }
        return patience
    }

    @Test(
        "Most of those that read are waited for, whatever was waited for before",
        arguments: [(1, 1, 0), (3, 2, 0), (2_000, 1_001, 0), (2_000, 51, 1_900)]
    )
    func most(memberCount: Int, behind: Int32, stalled: Int32) {
        var patience = patience((.behind, behind), (.stalled, stalled))
        for _ in 0..<2 {
            #expect(patience.begin(memberCount: memberCount, at: at(1)) == .seconds(2))
            patience.end(at: at(2))
        }
    }

    @Test(
        "Fewer are, from the square root of those that read",
        arguments: [(4, 2), (10, 4), (100, 10), (2_000, 45), (8_000, 90)]
    )
    func few(memberCount: Int, least: Int32) {
        var one = patience((.behind, least - 1))
        #expect(one.begin(memberCount: memberCount, at: at(1)) == nil)
        var many = patience((.behind, least))
        #expect(many.begin(memberCount: memberCount, at: at(1)) == .seconds(1))
    }

    @Test("A single one is when it is far behind, and none that has stalled")
    func far() {
        var far = patience((.farBehind, 1), (.stalled, 500))
        #expect(far.begin(memberCount: 2_000, at: at(1)) == .seconds(1))
        var stalled = patience((.stalled, 2_000))
        #expect(stalled.begin(memberCount: 2_000, at: at(1)) == nil)
        #expect(!stalled.isWanted(memberCount: 2_000))
    }

    @Test("Fewer than most are waited for at most half of the time")
    func halfOfTheTime() {
        var patience = patience((.behind, 10))
        #expect(patience.begin(memberCount: 100, at: at(1_000)) == .seconds(1))
        patience.end(at: at(1_400))
        #expect(patience.begin(memberCount: 100, at: at(1_799)) == nil)
        #expect(patience.begin(memberCount: 100, at: at(1_800)) == .seconds(1))
    }

    @Test("A wait is wanted until fewer are behind")
    func end() {
        var patience = patience((.behind, 10))
        #expect(patience.isWanted(memberCount: 100))
        patience.count(.behind, -1)
        patience.count(.farBehind, 1)
        #expect(patience.isWanted(memberCount: 100))
        patience.count(.farBehind, -1)
        #expect(!patience.isWanted(memberCount: 100))
        #expect(patience.behindCount == 9 && patience.farBehindCount == 0)
    }
}
