import CLinux
import Glibc
import Primitives
import Synchronization

/// What waits for the kernel on behalf of one loop: its streams, listeners, timers and groups.
///
/// Confined to the loop's thread: it belongs to the loop's resident and is not Sendable. A turn is
/// `poll()`, in which bytes and timers reach their owners and what an owner says to its own stream
/// leaves, then whatever the resident does, then `flush()`, which sends all else. A descriptor is registered once and edge-triggered
/// (epoll(7)), so that reading never changes the set; and writing only the first time that the
/// kernel has no room, since few streams ever see that, and each is told of room when it is entered.
///
/// The reactor and its streams refer to each other: ``shutDown()`` lets everything go.
public final class Reactor {
    /// The loop whose thread it is confined to.
    public let loop: EventLoop
    /// The time at which this turn's events were taken; read once a turn.
    public var now: MonotonicTime { monotonicTime }
    /// The time that timers count by: ``now`` without the pauses in which the process did not run.
    public var timerTime: MonotonicTime {
        MonotonicTime(nanoseconds: monotonicTime.nanoseconds - timerClock.pausedTime)
    }
    /// Seconds since 1970, read once a turn; it may jump.
    public var unixTime: Int64 { calendarTime }
    /// How many streams there are, closing ones included.
    public var streamCount: Int { liveStreamCount }
    /// Whether everything was closed by ``shutDown()``, or is being closed.
    public var hasShutDown: Bool { isShutDown }
    /// How many timers run.
    public var timerCount: Int { timers.count }

    // Stored apart from what others see of them: a public stored property is checked for exclusive access each time.
    private var monotonicTime: MonotonicTime
    private var calendarTime: Int64
    var liveStreamCount = 0

    let epoll: FileDescriptor
    private let events: UnsafeMutablePointer<epoll_event>
    private let received: UnsafeMutableBufferPointer<UInt8>
    /// Where small buffers are gathered into one TLS record; never lent to an owner.
    let record: UnsafeMutableRawBufferPointer
    private let clock: LoopClock
    private var timerClock: TimerClock
    let start: MonotonicTime
    /// When the last `poll()` ended its wait; an assisted turn in between may have moved ``now``.
    private var polledAt: MonotonicTime
    private var isPolling = false
    private var isFlushing = false
    private var isShutDown = false

    // Unchecked is the exclusive access to what every connection and every turn changes: while one of these is changed,
    // nothing is called that could come back to the reactor.

    /// The streams, by descriptor.
    @exclusivity(unchecked) var streams: [Stream?] = []
    /// The listeners; there are few.
    @exclusivity(unchecked) private var listeners: [Listener] = []
    private var lastGeneration: UInt32 = 0
    @exclusivity(unchecked) var timers = TimerWheel<Alarm>()
    private var spareQueues: [OutputQueue] = []
    /// What the kernel has no room for.
    let held = HeldBuffers()
    /// What has come in on this loop and is not dealt with yet.
    public let inbound = InboundBudget()
    /// Bytes of frames that may wait in a ``StreamGroup`` before it is congested: less than its members' queues hold.
    public var batchLengthMax = 64 << 10
    /// Whether the last `poll()` waited: there is time for what others have to do.
    public private(set) var hasRested = false
    /// When the wait that is under way ends at the latest, in ticks of the timers.
    private var tickAwaited = UInt64.max
    /// TLS handshakes that may still go on in this turn.
    private var handshakesLeft = 0
    /// Given up for a moment when no descriptor is left, so that a connection can be refused.
    var spareDescriptor: FileDescriptor?

    // What is to be done, each at most once in its list.
    @exclusivity(unchecked) private var ready = TurnList<Stream>()
    /// Streams for whose queues the kernel has room again, and that wait for their share of a turn.
    @exclusivity(unchecked) private var backlogs: [Stream] = []
    @exclusivity(unchecked) private var readyListeners: [Listener] = []
    @exclusivity(unchecked) private var dirty = TurnList<Stream>()
    @exclusivity(unchecked) private var notices: [(Stream, Notice)] = []
    @exclusivity(unchecked) private var closed = TurnList<End>()
    @exclusivity(unchecked) var dirtyGroups: [StreamGroup] = []
    /// Targets of groups that are no longer congested.
    var relieved: [any ReliefTarget] = []
    /// Groups with frames that wait for a time, and are not in the list for that reason.
    var delayedGroups: [ObjectIdentifier: StreamGroup] = [:]

    /// What happened to a stream while nobody could be told.
    enum Notice {
        case failed(StreamError), overflowed, drained
    }

    /// The end of a stream, of which its owner has not been told.
    private struct End {
        let stream: Stream
        let error: StreamError?
    }

    private static var eventCountMax: Int { 512 }
    /// Each may take up to a millisecond, for a signature with RSA: connected clients wait no longer than for these.
    private static var handshakesPerTurnMax: Int { 8 }
    /// The receive buffer, one for all streams: 64 KiB, in bytes.
    private static var receivedLength: Int { 64 << 10 }
    /// The least wait that counts as rest.
    private static var rest: Duration { .microseconds(20) }
    /// The eventfd's mark in the epoll set; descriptors are far smaller.
    private static var wakeupMark: UInt64 { .max }

    /// Makes a reactor without streams.
    ///
    /// - Parameters:
    ///   - loop: The loop that will call it, and that wakes it.
    ///   - clock: Where it reads the time.
    /// - Throws: The call that failed: descriptors or memory have run out.
    public init(loop: EventLoop, clock: LoopClock = .system) throws(SystemError) {
        let epoll = try FileDescriptor(epoll_create1(Int32(EPOLL_CLOEXEC)), from: "epoll_create1")
        var interest = epoll_event()
        interest.events = EPOLLIN.rawValue | EPOLLET.rawValue
        interest.data.u64 = Self.wakeupMark
        try SystemError.check(
            epoll_ctl(epoll.raw, EPOLL_CTL_ADD, loop.wakeup.raw, &interest),
            "epoll_ctl"
        )
        self.loop = loop
        self.clock = clock
        timerClock = TimerClock(tolerance: clock.pauseTolerance)
        start = clock.now()
        monotonicTime = start
        polledAt = start
        calendarTime = clock.unixTime()
        events = .allocate(capacity: Self.eventCountMax)
        received = .allocate(capacity: Self.receivedLength)
        received.initialize(repeating: 0)
        record = .allocate(byteCount: TLSSession.recordLengthMax, alignment: 1)
        self.epoll = epoll
        replaceSpareDescriptor()
    }

    deinit {
        events.deallocate()
        received.deallocate()
        record.deallocate()
    }

    // MARK: The turn

    /// Waits, lends what has arrived to its owners, accepts, and fires the timers that are due.
    ///
    /// It waits for an event, a timer or ``EventLoop/wake()``, and not at all while something is left
    /// to do from an earlier turn. After a pause of the process timers fire once all has been read that came meanwhile.
    ///
    /// - Parameter limit: The longest wait; nil for no limit.
    public func poll(atMost limit: Duration? = nil) {
        precondition(!isPolling && !isFlushing, "poll() inside a turn")
        precondition(!isShutDown, "poll() after shutDown()")
        let before = clock.now()
        let timeout = millisecondsToWait(atMost: limit, from: before)
        let count = wait(timeout)
        // Not while it waits: another thread may begin and end a turn meanwhile.
        isPolling = true
        defer { isPolling = false }
        let previous = polledAt
        readClocks()
        polledAt = monotonicTime
        hasRested = timeout != 0 && before.duration(to: polledAt) >= Self.rest
        timerClock.waitEnded(
            after: polledAt.nanoseconds - previous.nanoseconds,
            timeout: timeout,
            pollCountMax: liveStreamCount / Self.eventCountMax + 1
        )
        handshakesLeft = Self.handshakesPerTurnMax
        // Those first that had to wait for this turn.
        var waiting = ready.take()
        while let stream = waiting.popLast() { stream.serve() }
        ready.giveBack(waiting)
        drainBacklogs()
        for index in 0..<count { dispatch(events[index]) }
        timerClock.eventsHandled(hasMore: count == Self.eventCountMax)
        if !readyListeners.isEmpty {
            for listener in exchange(&readyListeners, with: []) { listener.acceptBurst() }
        }
        if timerClock.mayFire { fireTimers() }
    }

    /// Waits for events; returns how many there are.
    private func wait(_ timeout: Int32) -> Int {
        tickAwaited = timers.nextTick ?? .max
        // From here on another thread may assist.
        let sleeps = timeout != 0 && loop.activity.fallAsleep()
        let eventCountMax = Int32(Self.eventCountMax)
        var count = epoll_wait(epoll.raw, events, eventCountMax, sleeps ? timeout : 0)
        if count < 0, errno == EINTR {
            // A signal, or SIGSTOP and SIGCONT, ends the wait although there may be events (signal(7)): timers come after
            // them.
            count = epoll_wait(epoll.raw, events, eventCountMax, 0)
        }
        // After the wait and before the resident drains its mailboxes.
        loop.rise()
        return max(Int(count), 0)
    }

    /// Sends what was written in this turn and tells owners what came of it.
    ///
    /// First each stream's own bytes, then the groups' (a share of them, when the members are many),
    /// then what this brought about. Streams closed in this turn are let go at the end.
    public func flush() {
        precondition(!isPolling && !isFlushing, "flush() inside a turn")
        isFlushing = true
        defer { isFlushing = false }
        flushStreams()
        walkGroups()
        repeat {
            flushStreams()
            if !notices.isEmpty {
                for (stream, notice) in exchange(&notices, with: []) { tell(stream, notice) }
            }
            part()
            if !held.overdrawn.isEmpty { relieveAccounts() }
        } while !dirty.isEmpty || !notices.isEmpty || !closed.isEmpty
    }

    private func readClocks() {
        monotonicTime = clock.now()
        calendarTime = clock.unixTime()
    }

    /// Begins what is done in ``LoopResident/assist()``, in the place of ``poll(atMost:)``.
    public func beginAssisted() { readClocks() }

    /// How many sends ``flush()`` may take for what the groups have.
    public var groupSendCount: Int { dirtyGroups.reduce(0) { $0 + $1.count } }

    /// Whether the loop's thread has to wake up after ``LoopResident/assist()``: something is left to do, or a timer is
    /// due before the wait would end.
    public var needsThread: Bool { hasWork || timers.nextTick ?? .max < tickAwaited }

    /// `poll()`, then `flush()`.
    public func turn() {
        poll()
        flush()
    }

    /// Closes everything at once and tells the owners; the reactor is of no further use.
    public func shutDown() {
        guard !isShutDown else { return }
        isShutDown = true
        for stream in streams { stream?.end(with: .shutDown) }
        for listener in listeners { listener.close() }
        while !closed.isEmpty { part() }
        // Those too that owners have asked for in the last moment.
        timers.removeAll()
        ready.removeAll()
        backlogs = []
        dirty.removeAll()
        notices = []
        dirtyGroups = []
        relieved = []
        delayedGroups = [:]
        readyListeners = []
        spareQueues = []
    }

    private func flushStreams() {
        var streams = dirty.take()
        while let stream = streams.popLast() { stream.flush() }
        dirty.giveBack(streams)
    }

    /// Tells the owners of streams that have ended, and parts the two: each holds the other, and would for ever.
    private func part() {
        guard !closed.isEmpty else { return }
        var ends = closed.take()
        while let end = ends.popLast() {
            end.stream.currentOwner.streamClosed(end.stream, error: end.error)
            if end.stream.groupCount > 0 { end.stream.leaveAllGroups() }
            end.stream.currentOwner = Nobody.shared
        }
        closed.giveBack(ends)
    }

    private func tell(_ stream: Stream, _ notice: Notice) {
        guard stream.phase != .closed else { return }
        switch notice {
        case .failed(let error):
            if stream.currentOwner.readsAfterFailedWrite(stream) { stream.readLast() }
            stream.end(with: error)
        case .drained:
            if stream.isOpen { stream.currentOwner.streamDrained(stream) }
        case .overflowed:
            stream.flags.remove(.overflowed)
            guard stream.isOpen else { return }
            stream.currentOwner.streamOverflowed(stream)
            let (queued, limit) = (stream.queuedByteCount, Int(stream.queuedBytesMax))
            // A closing stream takes no more bytes and has a deadline.
            if stream.isOpen && queued > limit {
                stream.end(with: .overflow(queued: queued, limit: limit))
            }
        }
    }

    // MARK: Events

    private var hasWork: Bool {
        !ready.isEmpty || !dirty.isEmpty || !dirtyGroups.isEmpty || !readyListeners.isEmpty
            || !notices.isEmpty || !closed.isEmpty || !backlogs.isEmpty
            || loop.activity.isPosted
    }

    private func millisecondsToWait(
        atMost limit: Duration?,
        from now: MonotonicTime
    ) -> Int32 {
        guard !hasWork else { return 0 }
        var wait = limit.map { $0.wholeNanoseconds } ?? .max
        if let tick = timers.nextTick {
            let elapsed = now.nanoseconds - start.nanoseconds - timerClock.pausedTime
            wait = min(wait, Int64(tick) * 1_000_000 - elapsed)
        }
        guard wait < .max else { return -1 }
        return Int32(min(max((wait + 999_999) / 1_000_000, 0), Int64(Int32.max)))
    }

    /// Has an event served at once, unless its descriptor was closed since: it may be another's already, but of another
    /// generation.
    private func dispatch(_ event: epoll_event) {
        let mark = event.data.u64
        // The counter of the eventfd need not be read: each write is an edge.
        guard mark != Self.wakeupMark else { return }
        let fd = Int(mark & 0xFFFF_FFFF)
        let generation = UInt32(truncatingIfNeeded: mark >> 32)
        guard fd < streams.count, let stream = streams[fd] else {
            if let listener = listeners.first(where: { $0.generation == generation }) {
                acceptLater(listener)
            }
            return
        }
        guard stream.generation == generation else { return }
        stream.note(event.events)
        // One that has had its share of this turn waits for the next.
        guard !stream.flags.contains(.isReady) else { return }
        if stream.hasOnlyRoom, !backlogs.isEmpty || isDrainingLong {
            stream.flags.insert(.isReady)
            backlogs.append(stream)
        } else {
            stream.serve()
        }
    }

    // MARK: Streams with a backlog

    /// How long a turn may last, in nanoseconds, before streams that have room for more of their queues wait for the next:
    /// each may take hundreds of KiB at once, and thousands may have room at the same time.
    private static var drainTime: Int64 { 250_000 }

    private var isDrainingLong: Bool {
        clock.now().nanoseconds - monotonicTime.nanoseconds > Self.drainTime
    }

    /// Has streams send more of their queues, in the order in which they had room; at least one in each turn.
    private func drainBacklogs() {
        guard !backlogs.isEmpty else { return }
        var served = 0
        repeat {
            backlogs[served].serve()
            served += 1
        } while served < backlogs.count && !isDrainingLong
        backlogs.removeFirst(served)
    }

    // MARK: For streams and listeners

    /// The time as it is, which a long turn has left behind.
    func readClock() -> MonotonicTime { clock.now() }

    /// Has the stream served from here on.
    func register(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_ADD, stream.fd, stream.generation, stream.interest)
        while streams.count <= stream.fd { streams.append(nil) }
        streams[Int(stream.fd)] = stream
        liveStreamCount += 1
    }

    /// Has the listener accept from here on.
    func register(_ listener: Listener) throws(SystemError) {
        try control(EPOLL_CTL_ADD, listener.fd, listener.generation, EPOLLIN.rawValue)
        listeners.append(listener)
    }

    /// Takes in that the stream's interest has changed; what is true already makes an event.
    func update(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_MOD, stream.fd, stream.generation, stream.interest)
    }

    /// Takes everything but errors out of the stream's interest, until ``update(_:)``.
    func mute(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_MOD, stream.fd, stream.generation, 0)
    }

    /// Enters a descriptor into the epoll set, where it stays until it is closed, or changes its events there.
    private func control(
        _ operation: Int32,
        _ fd: Int32,
        _ generation: UInt32,
        _ events: UInt32
    ) throws(SystemError) {
        var interest = epoll_event()
        interest.events = events | EPOLLET.rawValue
        interest.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: fd))
        try SystemError.check(epoll_ctl(epoll.raw, operation, fd, &interest), "epoll_ctl")
    }

    func makeGeneration() -> UInt32 {
        // Never the wakeup's mark, whose upper half is all ones.
        lastGeneration = lastGeneration == .max - 1 ? 0 : lastGeneration + 1
        return lastGeneration
    }

    /// The stream has ended: no event reaches it any more, and its owner will be told.
    func forget(_ stream: Stream, _ error: StreamError?) {
        streams[Int(stream.fd)] = nil
        liveStreamCount -= 1
        closed.append(End(stream: stream, error: error))
    }

    /// The listener has stopped listening.
    func forget(_ listener: Listener) { listeners.removeAll { $0 === listener } }

    /// Takes one of this turn's steps of TLS handshakes: those that find none left wait for the next turn, in their order.
    func takeHandshake() -> Bool {
        handshakesLeft -= 1
        return handshakesLeft >= 0
    }

    func serve(_ stream: Stream) {
        guard !stream.flags.contains(.isReady) else { return }
        stream.flags.insert(.isReady)
        ready.append(stream)
    }

    func flushLater(_ stream: Stream) {
        guard !stream.flags.contains(.isDirty) else { return }
        stream.flags.insert(.isDirty)
        dirty.append(stream)
    }

    func acceptLater(_ listener: Listener) {
        guard !listener.isReady else { return }
        listener.isReady = true
        readyListeners.append(listener)
    }

    func notify(_ stream: Stream, _ notice: Notice) { notices.append((stream, notice)) }

    func takeQueue() -> OutputQueue { spareQueues.popLast() ?? OutputQueue() }

    func giveBack(_ queue: OutputQueue) {
        if spareQueues.count < 64 { spareQueues.append(queue) }
    }

    /// Where to read into, so that up to half a buffer of kept bytes fits in front.
    func room(behind kept: Int) -> UnsafeMutableBufferPointer<UInt8> {
        kept <= received.count / 2 ? .init(rebasing: received[kept...]) : received
    }

    /// Where the kept bytes go in front of `room`; nil if they are too many.
    func front(
        of room: UnsafeMutableBufferPointer<UInt8>,
        byteCount kept: Int
    ) -> UnsafeMutablePointer<UInt8>? {
        kept <= received.count / 2 ? room.baseAddress.map { $0 - kept } : nil
    }

    func replaceSpareDescriptor() {
        guard spareDescriptor == nil else { return }
        spareDescriptor = try? FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), from: "open")
    }
}
