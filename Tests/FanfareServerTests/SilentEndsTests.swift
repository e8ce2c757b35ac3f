import Logging
import Net
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Connections that end after silence") struct SilentEndsTests {
    private let lines = LogLines()

    /// Records ends, one a second from a time on, and returns the silences that were logged.
    private func logged(_ silences: [Int], in ends: SilentEnds, from second: Int = 0) -> [String] {
        let count = lines.all.count
        for (index, silence) in silences.enumerated() {
            let time = MonotonicTime(nanoseconds: Int64(second + index) * 1_000_000_000)
            ends.record(silence: silence, at: time)
        }
        return lines.all.dropFirst(count).compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("seconds=") }.map { String($0) }
        }
    }

    @Test("The same silence, again and again, is logged once an hour")
    func logs() {
        let ends = SilentEnds(lines.logger(from: .notice))
        #expect(logged([60, 60, 61], in: ends) == [])
        #expect(logged([60, 60, 60], in: ends, from: 10) == ["seconds=60"])
        #expect(logged(Array(repeating: 100, count: 16), in: ends, from: 700) == [])
        #expect(logged(Array(repeating: 100, count: 4), in: ends, from: 4000) == ["seconds=100"])
        #expect(lines.all.first?.hasPrefix("notice connections end without a close frame") == true)
    }

    @Test(
        "Ends after any silence, after none, and rare ones are those of clients",
        arguments: [
            [11, 60, 35, 102, 80, 60, 17, 49, 60, 22, 91, 60], Array(repeating: 3, count: 20),
        ]
    )
    func ignores(silences: [Int]) {
        #expect(logged(silences, in: SilentEnds(lines.logger(from: .notice))) == [])
    }

    @Test("Ends are remembered for ten minutes")
    func forgets() {
        let ends = SilentEnds(lines.logger(from: .notice))
        for number in 0..<10 { #expect(logged([60], in: ends, from: number * 250) == []) }
    }
}
