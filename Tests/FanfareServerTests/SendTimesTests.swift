import Net
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("The times from the beginning of turns until their events are sent") struct SendTimesTests {
    @Test("The longest turn with an event counts, once")
    func longest() {
        let now = MonotonicTime.current
        func turn(begun seconds: Int, ago times: inout SendTimes, count: Int) {
            times.turnEnded(begunAt: now.advanced(by: .seconds(-seconds)), publishedCount: count)
        }
        var times = SendTimes()
        turn(begun: 90, ago: &times, count: 0)
        #expect(times.takeLongest() == .zero)
        turn(begun: 20, ago: &times, count: 1)
        turn(begun: 30, ago: &times, count: 3)
        turn(begun: 10, ago: &times, count: 4)
        turn(begun: 90, ago: &times, count: 4)
        let longest = times.takeLongest()
        #expect(longest >= .seconds(30) && longest < .seconds(90))
        #expect(times.takeLongest() == .zero)
    }
}
