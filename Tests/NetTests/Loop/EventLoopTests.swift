import CLinux
import Glibc
import Synchronization
import Testing

@testable import Net

/// A resident that sums up posted numbers.
private actor Adder: LoopResident, TimerTarget {
    nonisolated let loop: EventLoop
    nonisolated let numbers: Mailbox<Int>
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private var isStopping = false
    private(set) var total = 0
    private(set) var received: [Int] = []
    private(set) var turnCount = 0
    /// The number of assists by another thread.
    private(set) var assistCount = 0
    /// An assisting thread leaves numbers from this one on to the loop's thread.
    private let heavy: Int
    private var timers: [CheckedContinuation<Void, Never>] = []

    init(heavy: Int = .max) throws {
        self.heavy = heavy
        loop = try EventLoop(name: "adder")
        numbers = Mailbox(wakes: loop)
        reactor = try Reactor(loop: loop)
    }

    func turn() -> Bool {
        turnCount += 1
        reactor.poll()
        add()
        reactor.flush()
        if isStopping { reactor.shutDown() }
        return !isStopping
    }

    func assist() -> Bool {
        assistCount += 1
        reactor.beginAssisted()
        let before = received.count
        add()
        reactor.flush()
        return received[before...].contains { $0 >= heavy } || reactor.needsThread
    }

    private func add() {
        for number in numbers.drain() {
            total += number
            received.append(number)
            // A negative number schedules a timer after so many milliseconds.
            if number < 0 { reactor.schedule(after: .milliseconds(-number), self, tag: -1) }
        }
    }

    func stop() { isStopping = true }

    func add(_ number: Int) { total += number }

    func isOnItsLoop() -> Bool { loop.isCurrent }

    func sleep(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            timers.append(continuation)
            reactor.schedule(after: duration, self, tag: timers.count - 1)
        }
    }

    /// Suspends inside the actor's isolation, so that the rest is a job for it.
    func suspend(_ body: @Sendable (CheckedContinuation<Void, Never>) -> Void) async {
        await withCheckedContinuation { body($0) }
    }

    nonisolated func timerFired(tag: Int) {
        guard tag >= 0 else { return hasFired.store(true, ordering: .releasing) }
        assumeIsolated { $0.timers[tag].resume() }
    }

    /// Whether a timer scheduled by a negative number has fired; read without a job, which would wake the loop.
    nonisolated let hasFired = Atomic(false)

    /// Returns once the loop waits for events, so that the next post finds it asleep unless a timer is due.
    nonisolated func awaitSleep() async {
        while !loop.activity.isAsleep { try? await Task.sleep(for: .milliseconds(1)) }
    }
}

@Suite("Event loops") struct EventLoopTests {
    @Test(.timeLimit(.minutes(1)))
    func runsItsActorsJobsOnItsThread() async throws {
        let adder = try Adder()
        #expect(!adder.loop.isCurrent)
        try adder.loop.start(adder)
        #expect(await adder.isOnItsLoop())
        for _ in 0..<100 { _ = await adder.total }
        await adder.stop()
        await adder.loop.waitUntilStopped()
        adder.loop.join()
    }

    @Test(.timeLimit(.minutes(1)))
    func bringsEveryMessageInOrder() async throws {
        let adder = try Adder()
        // Posted before the start, too.
        adder.numbers.post(1)
        try adder.loop.start(adder)
        let senders = (0..<4).map { sender in
            Task.detached {
                for number in 0..<5_000 { adder.numbers.post(sender * 10_000 + number) }
            }
        }
        for sender in senders { await sender.value }
        let expected = 1 + (0..<4).reduce(0) { $0 + $1 * 10_000 * 5_000 + 5_000 * 4_999 / 2 }
        while await adder.total != expected { await Task.yield() }
        let received = await adder.received
        for sender in 0..<4 {
            let own = received.dropFirst().filter { $0 / 10_000 == sender }
            #expect(own == own.sorted() && own.count == 5_000)
        }
        await adder.stop()
        await adder.loop.waitUntilStopped()
    }

    @Test(.timeLimit(.minutes(1)))
    func waitsWithoutSpinningAndWakesForTimers() async throws {
        let adder = try Adder()
        try adder.loop.start(adder)
        let before = await adder.turnCount
        let start = MonotonicTime.current
        await adder.sleep(.milliseconds(120))
        #expect(start.duration(to: .current) >= .milliseconds(119))
        #expect(await adder.turnCount - before < 20)
        await adder.stop()
        await adder.loop.waitUntilStopped()
    }

    @Test("A call returns although the loop has ended", .timeLimit(.minutes(1)))
    func answersAfterItsEnd() async throws {
        let adder = try Adder()
        try adder.loop.start(adder)
        await adder.stop()
        await adder.loop.waitUntilStopped()
        #expect(await adder.isOnItsLoop())
        #expect(!adder.loop.isCurrent)
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<500 { await adder.add(1) } }
            }
        }
        #expect(await adder.total == 4_000)
        adder.loop.join()
    }

    @Test("Calls that cross the loop's end all return", .timeLimit(.minutes(1)))
    func answersWhileItEnds() async throws {
        for _ in 0..<50 {
            let adder = try Adder()
            try adder.loop.start(adder)
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<50 { await adder.add(1) } }
                }
                group.addTask { await adder.stop() }
            }
            await adder.loop.waitUntilStopped()
            #expect(await adder.total == 200)
        }
    }

    @Test("A call of an actor whose loop never runs returns", .timeLimit(.minutes(1)))
    func answersWithoutAStart() async throws {
        let adder = try Adder()
        await adder.add(1)
        #expect(await adder.isOnItsLoop())
        #expect(await adder.total == 1)
        await adder.loop.waitUntilStopped()
    }

    @Test("Calls that cross the loop's start all return", .timeLimit(.minutes(1)))
    func answersWhileItStarts() async throws {
        for _ in 0..<20 {
            let adder = try Adder()
            let calls = (0..<4).map { _ in
                Task { for _ in 0..<50 { await adder.add(1) } }
            }
            try adder.loop.start(adder)
            for call in calls { await call.value }
            #expect(await adder.total == 200)
            #expect(await adder.turnCount > 0)
            await adder.stop()
            await adder.loop.waitUntilStopped()
        }
    }

    @Test("A job never runs inside the call that enqueues it", .timeLimit(.minutes(1)))
    func runsNoJobInsideItsSending() async throws {
        let adder = try Adder()
        let waiting = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let job = Task {
            await adder.suspend { continuation in waiting.withLock { $0 = continuation } }
            return waiting.withLock { $0 == nil }
        }
        while !waiting.withLock({ $0 != nil }) { await Task.yield() }
        // Resuming enqueues the rest of the task to the actor, while holding a lock that it needs.
        waiting.withLock { $0.take()?.resume() }
        #expect(await job.value)
    }

    @Test func writesOncePerBurst() throws {
        let loop = try EventLoop()
        let mailbox = Mailbox<Int>(wakes: loop)
        #expect(Bool(loop.activity.beginSleep()))
        for number in 0..<100 { mailbox.post(number) }
        #expect(mailbox.count == 100)
        var posted: eventfd_t = 0
        eventfd_read(loop.wakeup.raw, &posted)
        #expect(posted == 1)
        #expect(mailbox.drain() == Array(0..<100))
        #expect(mailbox.count == 0)
    }

    @Test func writesNothingToALoopThatIsAwake() throws {
        let loop = try EventLoop()
        let mailbox = Mailbox<Int>(wakes: loop)
        mailbox.post(1)
        var posted: eventfd_t = 0
        #expect(eventfd_read(loop.wakeup.raw, &posted) < 0)
        // It checks for posts before it waits.
        #expect(Bool(loop.activity.isPosted))
    }

    // MARK: Assisting

    @Test(.timeLimit(.minutes(1)))
    func anotherThreadHandlesWhatItPostsWhileTheLoopSleeps() async throws {
        let adder = try Adder()
        try adder.loop.start(adder)
        await adder.awaitSleep()
        adder.numbers.post([1, 2], assists: true)
        // Done when the call returns; nothing was left to the loop's thread.
        #expect(Bool(adder.loop.activity.isAsleep))
        #expect(await adder.received == [1, 2])
        #expect(await adder.assistCount == 1)
        await adder.stop()
        await adder.loop.waitUntilStopped()
        // A loop that has ended does not handle posts.
        adder.numbers.post([3], assists: true)
        #expect(adder.numbers.count == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func whatIsTooMuchWakesTheLoopsThread() async throws {
        let adder = try Adder(heavy: 10)
        try adder.loop.start(adder)
        await adder.awaitSleep()
        let turns = await adder.turnCount
        await adder.awaitSleep()
        adder.numbers.post([10], assists: true)
        while await adder.turnCount < turns + 2 { await Task.yield() }
        #expect(await adder.assistCount == 1)
        await adder.stop()
        await adder.loop.waitUntilStopped()
    }

    /// The loop's thread waits without end when another one schedules a timer.
    @Test(.timeLimit(.minutes(1)))
    func aTimerThatIsScheduledMeanwhileFires() async throws {
        let adder = try Adder()
        try adder.loop.start(adder)
        await adder.awaitSleep()
        adder.numbers.post([-20], assists: true)
        while !adder.hasFired.load(ordering: .acquiring) {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(await adder.assistCount == 1)
        await adder.stop()
        await adder.loop.waitUntilStopped()
    }

    @Test(.timeLimit(.minutes(1)))
    func bringsEveryMessageInOrderWhereSeveralAssist() async throws {
        let adder = try Adder(heavy: 15_000)
        try adder.loop.start(adder)
        let senders = (0..<4).map { sender in
            Task.detached {
                for number in 0..<5_000 {
                    let number = sender * 10_000 + number
                    adder.numbers.post([number], assists: sender != 1)
                    if number % 100 == 0 { await adder.awaitSleep() }
                }
            }
        }
        for sender in senders { await sender.value }
        while await adder.received.count < 20_000 { await Task.yield() }
        let received = await adder.received
        for sender in 0..<4 {
            #expect(
                received.filter { $0 / 10_000 == sender }
                    == Array(sender * 10_000..<sender * 10_000 + 5_000)
            )
        }
        #expect(await adder.assistCount > 0)
        await adder.stop()
        await adder.loop.waitUntilStopped()
    }

    @Test func trapsOffTheLoop() async {
        await #expect(processExitsWith: .failure) { try EventLoop().checkIsolated() }
    }
}
