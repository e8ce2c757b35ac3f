import Testing

@testable import Broker

@Suite("The offset of a loop's clock from the calendar") struct CalendarOffsetTests {
    @Test(
        "Readings that differ by at most a second change nothing",
        arguments: [0, 1, -1, 999, -1_000, 1_000] as [Int64]
    )
    func kept(difference: Int64) {
        var offset = CalendarOffset()
        #expect(offset.update(calendar: 1_790_000_000_000, now: 5_000) == 1_789_999_995_000)
        #expect(
            offset.update(calendar: 1_790_000_060_000 + difference, now: 65_000)
                == 1_789_999_995_000
        )
    }

    @Test("A calendar that was set is followed", arguments: [1_001, -1_001, 3_600_000] as [Int64])
    func set(difference: Int64) {
        var offset = CalendarOffset()
        let first = offset.update(calendar: 1_790_000_000_000, now: 5_000)
        #expect(
            offset.update(calendar: 1_790_000_060_000 + difference, now: 65_000)
                == first + difference
        )
        #expect(
            offset.update(calendar: 1_790_000_120_001 + difference, now: 125_000)
                == first + difference
        )
    }
}
