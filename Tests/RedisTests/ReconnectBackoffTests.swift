import Redis
import Testing

@Suite("Pauses between attempts to connect") struct ReconnectBackoffTests {
    @Test func doublesUpToTheLongest() {
        var backoff = ReconnectBackoff(shortest: .milliseconds(100), longest: .milliseconds(500))
        let longest = (0..<5).map { _ in backoff.pause(random: .max) }
        let expected: [Duration] = [100, 200, 400, 500, 500].map { .milliseconds($0) }
        for (pause, bound) in zip(longest, expected) {
            #expect(pause <= bound && pause > bound - .milliseconds(1))
        }
        backoff.reset()
        #expect(backoff.pause(random: 0) == .milliseconds(50))
        #expect(backoff.pause(random: 0) == .milliseconds(100))
    }
}
