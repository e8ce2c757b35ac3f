import Testing

@testable import Net

private final class Clock: TimerTarget {
    var tags: [Int] = []
    var onFire: ((Int) -> Void)?
    func timerFired(tag: Int) {
        tags.append(tag)
        onFire?(tag)
    }
}

@Suite("Timers of a reactor") struct ReactorTimerTests {
    @Test func firesInOrderAndNeverEarly() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let clock = Clock()
        let start = reactor.now
        for delay in [30, 10, 20] {
            reactor.schedule(after: .milliseconds(delay), clock, tag: delay)
        }
        clock.onFire = { #expect(start.duration(to: reactor.now) >= .milliseconds($0)) }
        reactor.run { clock.tags.count == 3 }
        #expect(clock.tags == [10, 20, 30])
    }

    @Test func cancelsAndSchedulesFromInside() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let clock = Clock()
        let other = reactor.schedule(after: .milliseconds(5), clock, tag: 99)
        clock.onFire = { [unowned clock] tag in
            reactor.cancel(other)
            if tag < 5 { reactor.schedule(after: .zero, clock, tag: tag + 1) }
        }
        reactor.schedule(after: .zero, clock, tag: 0)
        reactor.run { clock.tags.count == 6 }
        #expect(clock.tags == [0, 1, 2, 3, 4, 5])
    }

    @Test("Timers use only the given clock")
    func followsTheClockThatItIsGiven() throws {
        var now = MonotonicTime(nanoseconds: 5_000_000)
        var unixTime: Int64 = 1_700_000_000
        let reactor = try Reactor(
            loop: EventLoop(name: "test"),
            clock: LoopClock(now: { now }, unixTime: { unixTime })
        )
        defer { reactor.shutDown() }
        let clock = Clock()
        reactor.schedule(after: .seconds(3600), clock, tag: 1)
        #expect(reactor.timerCount == 1)
        reactor.settle()
        #expect(clock.tags.isEmpty)
        now = now.advanced(by: .seconds(3601))
        unixTime -= 1
        reactor.settle()
        #expect(clock.tags == [1])
        #expect(reactor.now == now)
        #expect(reactor.unixTime == 1_699_999_999)
        #expect(reactor.timerCount == 0)
    }

    @Test("A timer scheduled in `streamClosed` during shutdown retains nothing")
    func forgetsTimersOfTheLastMoment() throws {
        weak var kept: Clock?
        do {
            let reactor = try Reactor.forTest()
            let clock = Clock()
            kept = clock
            let delegate = Recorder()
            delegate.onClose = { reactor.schedule(after: .seconds(1), clock) }
            let (_, peer) = try reactor.streamAndPeer(delegate)
            reactor.shutDown()
            #expect(delegate.isClosed)
            #expect(reactor.timerCount == 0)
            delegate.onClose = nil
            peer.close()
        }
        #expect(kept == nil)
    }
}
