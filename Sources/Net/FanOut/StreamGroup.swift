/// Streams that receive the same bytes: the fan-out.
///
/// Frames sent in one turn are joined into a batch, encoded once and shared by reference; at the end
/// of the turn each member gets the batch with one send. A group of many is walked in shares, between
/// which the reactor polls, and frames sent meanwhile gather in the next batch.
///
/// Each member gets, in order and once each, exactly the frames sent between its `join` and its
/// `leave`. The streams must belong to the group's reactor; a stream that ends leaves by itself.
///
/// A group never refuses a frame. ``isCongested`` says that its members take frames more slowly than they come: whoever
/// can slow the publishers down does so then, until ``ReliefTarget/groupRelieved()``.
public final class StreamGroup {
    // What every walk touches comes first: of a thousand groups nothing is in the processor's cache,
    // and each line of it that is fetched takes as long as a hundred instructions.
    let reactor: Reactor
    /// The members' descriptors, or -1 for one to which bytes cannot simply be sent: so a walk need
    /// not touch the streams.
    var descriptors: [Int32] = []
    /// Frames that wait for the next walk.
    var waiting = FrameBatch()
    /// Members before it get the waiting batch whole; later ones joined in the middle of it.
    var whole: Int32 = 0
    /// Members before it have yet to get the batch being walked: the walk goes down to zero.
    var cursor: Int32 = 0
    /// Whether it is in the reactor's list, or pauses.
    var isDirty = false

    var streams: [Stream] = []
    /// The batch of a walk that takes several turns; empty between walks.
    var walking = FrameBatch()
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) var pace = FanOutCoalescing()
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) var deferral = FrameDeferral()
    /// Why the next walk has not begun although frames wait.
    var delay: Delay? {
        didSet { reactor.delayedGroups[ObjectIdentifier(self)] = delay == nil ? nil : self }
    }

    /// Which members are behind, and how long the next walk waits for them.
    ///
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) var patience = ReaderPatience()
    /// Whether the next walk begins without waiting for readers that are behind.
    var ignoresLag = false
    /// Whether more waits for the next walk than the group is meant to hold: the members take frames more slowly than they
    /// are sent.
    public private(set) var isCongested = false
    private var reliefTarget: (any ReliefTarget)?

    /// Why a walk waits, and the timer that ends the wait at the latest.
    enum Delay {
        /// For frames that share its sends.
        case coalescing(TimerID)
        /// For frames that share its sends, because all that wait may wait.
        case deferring(TimerID)
        /// For members to take what they were sent before.
        case readers(TimerID)
    }

    init(reactor: Reactor) { self.reactor = reactor }

    /// How many members there are.
    public var count: Int { descriptors.count }

    /// Makes a stream a member; it gets what is sent from now on.
    ///
    /// - Precondition: It is no member yet.
    public func join(_ stream: Stream) {
        assert(stream.reactor === reactor)
        precondition(!stream.seats.contains(self), "a stream is a member once")
        // At the end, past the cursor: it is no part of a walk under way.
        let (index, start) = (Int32(streams.count), waiting.bytes.count)
        let seat = GroupMembership(group: self, start: start, index: index)
        change { streams, descriptors in
            streams.append(stream)
            descriptors.append(-1)
        }
        stream.put(seat)
        patience.count(stream.lag, 1)
        noteWhetherFree(stream, at: seat)
    }

    /// Takes a stream out; what was sent before still reaches it.
    ///
    /// One that is no member, or no longer, as after its end, is no fault.
    public func leave(_ stream: Stream) {
        guard let seat = stream.takeSeat(in: self) else { return }
        // Mostly it has had all there is.
        guard seat.index < cursor || !waiting.isEmpty, !stream.obstacles.contains(.detached) else {
            return vacate(seat)
        }
        let (walking, waiting) = (walking, waiting)
        let rest = seat.index < cursor ? walking.part(for: stream, from: 0) : []
        let start = seat.index < whole ? 0 : seat.start
        let news = waiting.isEmpty ? [] : waiting.part(for: stream, from: start)
        vacate(seat)
        // Now, so that whatever the caller writes next comes after it.
        stream.write(rest)
        stream.write(news)
    }

    /// Sends a frame to all members at the end of the turn.
    ///
    /// - Parameters:
    ///   - frame: The bytes, complete in themselves: a member may get any whole number of frames.
    ///   - except: A member that does not get it.
    ///   - delayMax: How long the frame may wait for others to share its sends, in milliseconds. It does not wait for longer
    ///     than that after the last such frame was sent, nor when a frame comes that may not wait.
    public func send(_ frame: [UInt8], except: Stream? = nil, delayMax: UInt16 = 0) {
        let count = descriptors.count
        guard !frame.isEmpty, count > 0 else { return }
        var batch = exchange(&waiting, with: FrameBatch())
        if batch.isEmpty { whole = Int32(count) }
        batch.append(frame, except: except.flatMap { $0.seats.count > 0 ? $0 : nil })
        reactor.inbound.charge(frame.count)
        if batch.bytes.count >= reactor.batchLengthMax || reactor.inbound.isFilling {
            isCongested = true
        }
        waiting = batch
        deferral.add(delayMax: delayMax)
        if !isDirty {
            isDirty = true
            if !beginPause() { reactor.dirtyGroups.append(self) }
        } else if isDelayOver(with: batch) {
            resume()
        }
    }

    /// Has `target` called once, as soon as the group is no longer congested; it takes the place of an earlier one.
    public func notifyRelief(_ target: any ReliefTarget) {
        if isCongested { reliefTarget = target } else { reactor.relieve(target) }
    }

    /// Takes the frames that wait, so that there is room for others.
    func takeWaiting() -> FrameBatch {
        isCongested = false
        if let target = reliefTarget.take() { reactor.relieve(target) }
        return exchange(&waiting, with: FrameBatch())
    }

    /// Drops a batch that has reached every member that is left.
    func finish(_ batch: consuming FrameBatch) {
        reactor.inbound.refund(batch.bytes.count)
        batch.end()
    }

    /// Notes whether bytes can simply be sent to a member.
    func noteWhetherFree(_ stream: Stream, at seat: GroupMembership) {
        let descriptor = stream.obstacles.isEmpty ? stream.fd : -1
        change { _, descriptors in descriptors[Int(seat.index)] = descriptor }
    }

    /// Fills the place of a member that has left, without disturbing a walk.
    func vacate(_ seat: GroupMembership) {
        var hole = Int(seat.index)
        patience.count(streams[hole].lag, -1)
        // Each boundary gives up its last member to the hole, which so moves up to the end: nobody
        // crosses a boundary, so nobody is served twice or left out.
        if hole < cursor {
            cursor -= 1
            hole = move(Int(cursor), to: hole)
            if cursor == 0 { finish(exchange(&walking, with: FrameBatch())) }
        }
        if !waiting.isEmpty && hole < whole {
            whole -= 1
            hole = move(Int(whole), to: hole)
        }
        _ = move(descriptors.count - 1, to: hole)
        change { streams, descriptors in
            streams.removeLast()
            descriptors.removeLast()
        }
        if descriptors.isEmpty { finish(takeWaiting()) }
        resumeIfReadersCaughtUp()
    }

    private func move(_ source: Int, to hole: Int) -> Int {
        guard source != hole else { return hole }
        let stream = streams[source]
        change { streams, descriptors in
            streams[hole] = stream
            descriptors[hole] = descriptors[source]
        }
        if var seat = stream.seats[self] {
            seat.index = Int32(hole)
            stream.put(seat)
        }
        return source
    }

    /// Lends the members for a change, moved out of the group: no access to its properties spans a call, so that the
    /// optimizer can prove each of them exclusive and a publish is not checked for it.
    private func change(_ body: (inout [Stream], inout [Int32]) -> Void) {
        var (streams, descriptors) = (
            exchange(&streams, with: []), exchange(&descriptors, with: [])
        )
        body(&streams, &descriptors)
        self.streams = streams
        self.descriptors = descriptors
    }
}

/// Called when a congested ``StreamGroup`` has room again.
public protocol ReliefTarget: AnyObject {
    /// The group takes frames again; called once, from ``Reactor/relieveTargets()``.
    func groupRelieved()
}

extension Stream {
    /// Makes an empty group for streams of the same reactor.
    public func makeGroup() -> StreamGroup { reactor.makeGroup() }
}

extension Reactor {
    /// Makes an empty group.
    public func makeGroup() -> StreamGroup { StreamGroup(reactor: self) }

    /// Calls the targets of groups that are no longer congested.
    ///
    /// For the resident, between `poll()` and `flush()` or after both: a target may send to any group.
    public func relieveTargets() {
        guard !relieved.isEmpty else { return }
        for target in exchange(&relieved, with: []) { target.groupRelieved() }
    }

    /// Calls `target` at the resident's next ``relieveTargets()``.
    public func relieve(_ target: any ReliefTarget) {
        relieved.append(target)
        // The next turn must not wait for an event.
        loop.wake()
    }
}
