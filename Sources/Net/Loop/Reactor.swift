import CLinux
import Glibc
import Primitives
import Synchronization

/// The I/O of one loop: its streams, listeners, timers and groups.
///
/// Confined to the loop's thread: it belongs to the loop's resident and is not Sendable.
///
/// A turn has three steps. `poll()` delivers bytes and timers to their delegates, and sends what a delegate writes to
/// its own stream. Then the resident does its own work. Then `flush()` sends everything else.
///
/// A descriptor is registered once, edge-triggered (epoll(7)). Its interest changes at most once: EPOLLOUT is added
/// when its send buffer is full for the first time, which happens to few streams. Otherwise each registration would
/// report a writable socket.
///
/// The reactor and its streams refer to each other; ``shutDown()`` breaks the cycles.
public final class Reactor {
    /// The loop whose thread it is confined to.
    public let loop: EventLoop
    /// The monotonic time, read once a turn.
    public var now: MonotonicTime { monotonicTime }
    /// The time that timers use: ``now`` without the pauses in which the process did not run.
    public var timerTime: MonotonicTime {
        MonotonicTime(nanoseconds: monotonicTime.nanoseconds - timerClock.pausedTime)
    }
    /// Seconds since 1970, read once a turn; it may jump.
    public var unixTime: Int64 { calendarTime / 1_000 }
    /// Milliseconds since 1970, read once a turn; they may jump.
    public var unixMilliseconds: Int64 { calendarTime }
    /// The number of streams, closing ones included.
    public var streamCount: Int { liveStreamCount }
    /// Whether ``shutDown()`` was called.
    public var hasShutDown: Bool { isShutDown }
    /// The number of scheduled timers.
    public var timerCount: Int { timers.count }

    // Stored apart from the public properties: access to a public stored property is checked for exclusivity each time.
    var monotonicTime: MonotonicTime
    private var calendarTime: Int64
    var liveStreamCount = 0

    let epoll: FileDescriptor
    private let events: UnsafeMutablePointer<epoll_event>
    private let received: UnsafeMutableBufferPointer<UInt8>
    /// The buffer in which small buffers are gathered into one TLS record; never passed to a delegate.
    let record: UnsafeMutableRawBufferPointer
    let clock: LoopClock
    private var timerClock: TimerClock
    let start: MonotonicTime
    /// The end of the last `poll()`'s wait; an assisted turn may have changed ``now`` since.
    private var polledAt: MonotonicTime
    var isPolling = false
    var isFlushing = false
    private var isShutDown = false

    // Exclusive access is unchecked for what every connection and every turn changes. While one of these is being
    // changed, no call is made that could re-enter the reactor.

    /// The streams, by descriptor.
    @exclusivity(unchecked) var streams: [Stream?] = []
    /// The listeners; there are few.
    @exclusivity(unchecked) var listeners: [Listener] = []
    var lastGeneration: UInt32 = 0
    @exclusivity(unchecked) var timers = TimerWheel<Alarm>()
    private var spareQueues: [OutputQueue] = []
    /// The memory of queued output.
    let ledger = QueuedBufferLedger()
    /// The memory of input that was received on this loop and is not processed yet.
    public let inbound = InboundBudget()
    /// The length of a ``StreamGroup``'s waiting batch from which the group is congested, in bytes.
    ///
    /// It is less than a member's queue holds.
    public var batchLengthMax = 64 << 10
    /// Whether the last `poll()` waited, so that this thread has time to assist other loops.
    public private(set) var wasIdle = false
    /// The timer tick at which the current wait ends at the latest.
    private var tickAwaited = UInt64.max
    /// The number of TLS handshake steps that are left in this turn.
    private var handshakesLeft = 0
    /// Whether a stream has reached its end in this turn.
    private var hasEnding = false
    /// A reserve that is closed for a moment when no descriptor is left, so that a connection can be refused.
    var spareDescriptor: FileDescriptor?

    // The work lists; each element is at most once in its list.
    @exclusivity(unchecked) private var ready = TurnList<Stream>()
    /// Streams with queued output that became writable and wait for a turn with time for them.
    @exclusivity(unchecked) var backlogs: [Stream] = []
    @exclusivity(unchecked) private var readyListeners: [Listener] = []
    @exclusivity(unchecked) var dirty = TurnList<Stream>()
    @exclusivity(unchecked) var notices: [(Stream, Notice)] = []
    @exclusivity(unchecked) var closed = TurnList<ClosedStream>()
    @exclusivity(unchecked) var dirtyGroups: [StreamGroup] = []
    /// Targets of groups that are no longer congested.
    var relieved: [any ReliefTarget] = []
    /// Groups with frames whose next pass is delayed; they are not in `dirtyGroups`.
    var delayedGroups: [ObjectIdentifier: StreamGroup] = [:]

    /// An event of a stream that its delegate is notified of later in the turn.
    enum Notice {
        case failed(StreamError), overflowed, drained, relayed(RelayEvent)
    }

    /// A stream that has ended and whose delegate has not been notified yet.
    struct ClosedStream {
        let stream: Stream
        let error: StreamError?
    }

    private static var eventCountMax: Int { 512 }
    /// A step may take up to a millisecond, for an RSA signature; the limit bounds the delay of connected clients.
    private static var handshakesPerTurnMax: Int { 8 }
    /// How long a turn may last, in nanoseconds, before each stream may read only once and further ends wait for the
    /// next turn.
    ///
    /// A single read may contain thousands of small messages.
    private static var longTurn: Int64 { 1_000_000 }
    /// The length of the receive buffer, which all streams share, in bytes.
    private static var receivedLength: Int { 64 << 10 }
    /// The shortest wait that counts as idle time.
    private static var idleTimeMin: Duration { .microseconds(20) }
    /// The eventfd's data in the epoll set; descriptors are far smaller.
    private static var wakeupMark: UInt64 { .max }

    /// Makes a reactor without streams.
    ///
    /// - Parameters:
    ///   - loop: The loop that wakes the reactor, and on whose thread the reactor runs.
    ///   - clock: The clock to read.
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
        calendarTime = clock.unixMilliseconds()
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

    /// Waits for events, delivers received bytes to the delegates, accepts connections, and fires the timers that are
    /// due.
    ///
    /// It waits for an event, a timer or ``EventLoop/wake()``, and not at all while work is left from an earlier turn.
    /// After a pause of the process, timers fire once everything that arrived meanwhile has been read.
    ///
    /// - Parameter limit: The longest wait; nil for no limit.
    public func poll(atMost limit: Duration? = nil) {
        precondition(!isPolling && !isFlushing, "poll() inside a turn")
        precondition(!isShutDown, "poll() after shutDown()")
        let before = clock.now()
        let timeout = millisecondsToWait(atMost: limit, from: before)
        let count = wait(timeout)
        // Set after the wait, during which another thread may run a turn.
        isPolling = true
        defer { isPolling = false }
        let previous = polledAt
        readClocks()
        polledAt = monotonicTime
        wasIdle = timeout != 0 && before.duration(to: polledAt) >= Self.idleTimeMin
        timerClock.waitEnded(
            after: polledAt.nanoseconds - previous.nanoseconds,
            timeout: timeout,
            pollCountMax: liveStreamCount / Self.eventCountMax + 1
        )
        handshakesLeft = Self.handshakesPerTurnMax
        hasEnding = false
        // Streams left over from the last turn come first.
        var waiting = ready.take()
        while let stream = waiting.popLast() { stream.serve() }
        ready.recycle(waiting)
        drainBacklogs()
        for index in 0..<count { dispatch(events[index]) }
        timerClock.eventsHandled(hasMore: count == Self.eventCountMax)
        if !readyListeners.isEmpty {
            for listener in exchange(&readyListeners, with: []) { listener.acceptBurst() }
        }
        if timerClock.mayFire { fireTimers() }
    }

    /// Waits for events and returns their number.
    private func wait(_ timeout: Int32) -> Int {
        tickAwaited = timers.nextTick ?? .max
        // From here on another thread may assist.
        let sleeps = timeout != 0 && loop.activity.beginSleep()
        let eventCountMax = Int32(Self.eventCountMax)
        var count = epoll_wait(epoll.raw, events, eventCountMax, sleeps ? timeout : 0)
        if count < 0, errno == EINTR {
            // A signal, or SIGSTOP and SIGCONT, ends the wait although there may be events (signal(7)). These must be
            // handled before the timers.
            count = epoll_wait(epoll.raw, events, eventCountMax, 0)
        }
        // After the wait, and before the resident drains its mailboxes.
        loop.endSleep()
        return max(Int(count), 0)
    }

    private func readClocks() {
        monotonicTime = clock.now()
        calendarTime = clock.unixMilliseconds()
    }

    /// Begins an assisted turn (``LoopResident/assist()``), in place of ``poll(atMost:)``.
    public func beginAssisted() { readClocks() }

    /// The maximum number of sends that ``flush()`` needs for the groups' frames.
    public var groupSendCount: Int { dirtyGroups.reduce(0) { $0 + $1.count } }

    /// Whether the loop's thread has to wake up after ``LoopResident/assist()``: work is left, or a timer is due before
    /// the wait would end.
    public var needsThread: Bool { hasWork || timers.nextTick ?? .max < tickAwaited }

    /// `poll()`, then `flush()`.
    public func turn() {
        poll()
        flush()
    }

    /// Closes everything at once and notifies the delegates.
    ///
    /// The reactor cannot be used afterwards.
    public func shutDown() {
        guard !isShutDown else { return }
        isShutDown = true
        for stream in streams { stream?.end(with: .shutDown) }
        for listener in listeners { listener.close() }
        while !closed.isEmpty { finishClosed() }
        // Including what delegates requested in `streamClosed`.
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

    /// Handles an event, unless its descriptor was closed since.
    ///
    /// A descriptor that is in use again has another generation.
    private func dispatch(_ event: epoll_event) {
        let mark = event.data.u64
        // The eventfd's counter need not be read: each write is an edge.
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
        stream.record(event.events)
        // A stream that has used up its share of this turn waits for the next.
        guard !stream.flags.contains(.isReady) else { return }
        if stream.isOnlyWritable, !backlogs.isEmpty || isDrainingLong {
            stream.flags.insert(.isReady)
            backlogs.append(stream)
        } else {
            stream.serve()
        }
    }

    // MARK: Streams and listeners

    /// Reads the clock; in a long turn it differs from ``now``.
    public func readClock() -> MonotonicTime { clock.now() }

    /// Whether the turn has lasted so long that what can wait does.
    var isTurnLong: Bool { readClock().nanoseconds - now.nanoseconds > Self.longTurn }

    /// Takes one of this turn's TLS handshake steps; false if none is left and the stream has to wait for the next
    /// turn.
    func takeHandshakeStep() -> Bool {
        handshakesLeft -= 1
        return handshakesLeft >= 0
    }

    /// Whether a stream may reach its end in this turn; if not, it has to wait for the next.
    ///
    /// An end may take long, for example of a client with thousands of subscriptions. A turn allows one end, and
    /// further ones only until it is long.
    func takeEnding() -> Bool {
        guard !hasEnding || !isTurnLong else { return false }
        hasEnding = true
        return true
    }

    func serveLater(_ stream: Stream) {
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

    func notifyLater(_ stream: Stream, _ notice: Notice) { notices.append((stream, notice)) }

    func takeQueue() -> OutputQueue { spareQueues.popLast() ?? OutputQueue() }

    func recycle(_ queue: OutputQueue) {
        if spareQueues.count < 64 { spareQueues.append(queue) }
    }

    /// Returns the part of the receive buffer to read into, so that `kept` bytes fit in front of it if they are at most
    /// half a buffer.
    func receiveBuffer(after kept: Int) -> UnsafeMutableBufferPointer<UInt8> {
        kept <= received.count / 2 ? .init(rebasing: received[kept...]) : received
    }

    /// Returns where the kept bytes go in front of `buffer`; nil if they do not fit.
    func front(
        of buffer: UnsafeMutableBufferPointer<UInt8>,
        byteCount kept: Int
    ) -> UnsafeMutablePointer<UInt8>? {
        kept <= received.count / 2 ? buffer.baseAddress.map { $0 - kept } : nil
    }

    func replaceSpareDescriptor() {
        guard spareDescriptor == nil else { return }
        spareDescriptor = try? FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), from: "open")
    }
}
