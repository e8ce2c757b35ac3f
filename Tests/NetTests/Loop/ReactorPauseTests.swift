import Testing

@testable import Net

/// Runs a closure when a timer fires.
private final class Alarm: TimerTarget {
    private let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
    func timerFired(tag: Int) { body() }
}

@Suite("A pause of the process") struct ReactorPauseTests {
    /// A reactor with a clock set by the test, whose late polls count as pauses.
    private final class Paused {
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        private(set) lazy var clock = LoopClock(
            now: { [unowned self] in now },
            unixTime: { 1_700_000_000 },
            pauseTolerance: .milliseconds(200)
        )
        func pass(_ duration: Duration) { now = now.advanced(by: duration) }
    }

    @Test(
        "Bytes that arrive during a pause are read before a timer fires",
        arguments: [1, 600, 1_500]
    )
    func readsFirst(count: Int) throws {
        let paused = Paused()
        let reactor = try Reactor(loop: EventLoop(name: "test"), clock: paused.clock)
        defer { reactor.shutDown() }
        let recorders = (0..<count).map { _ in Recorder() }
        let peers = try recorders.map { try reactor.streamAndPeer($0).peer }
        var readCounts: [Int] = []
        let alarm = Alarm { readCounts.append(recorders.count { !$0.received.isEmpty }) }
        reactor.schedule(after: .milliseconds(100), alarm)
        reactor.settle()
        #expect(readCounts.isEmpty)

        for peer in peers { peer.write([1]) }
        paused.pass(.seconds(60))
        reactor.settle()
        #expect(readCounts == [count])
    }

    @Test("Deadlines exclude a pause, and pass on time after it")
    func leavesOutThePause() throws {
        let paused = Paused()
        let reactor = try Reactor(loop: EventLoop(name: "test"), clock: paused.clock)
        defer { reactor.shutDown() }
        var firedCount = 0
        reactor.schedule(after: .seconds(30), Alarm { firedCount += 1 })
        // In steps too short to be pauses.
        for _ in 0..<100 {
            paused.pass(.milliseconds(200))
            reactor.turn(atMost: .zero)
        }
        let before = reactor.timerTime
        paused.pass(.seconds(3_600))
        reactor.settle()
        #expect(before.duration(to: reactor.timerTime) == .milliseconds(200))
        for _ in 0..<49 {
            paused.pass(.milliseconds(200))
            reactor.turn(atMost: .zero)
            #expect(firedCount == 0)
        }
        paused.pass(.milliseconds(10))
        reactor.turn(atMost: .zero)
        #expect(firedCount == 1)
        #expect(reactor.now == paused.now)
    }
}
