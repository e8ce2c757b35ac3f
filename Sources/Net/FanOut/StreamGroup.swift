/// Streams that receive the same bytes: the fan-out.
///
/// Frames sent in one turn are joined into a batch, encoded once and shared by reference. At the end of the turn a
/// fan-out pass sends the batch to each member with one call. The pass of a large group takes several turns; the
/// reactor polls in between, and frames sent meanwhile go into the next batch.
///
/// Each member gets, in order and once each, exactly the frames sent between its `join` and its `leave`. The streams
/// must belong to the group's reactor. A stream that ends leaves its groups automatically.
///
/// A group never refuses a frame. While ``isCongested`` is true, members take frames more slowly than they are sent,
/// and publishers should be slowed down until ``ReliefTarget/groupRelieved()``.
public final class StreamGroup {
    // Every pass reads these properties, so they come first. With a thousand groups none is in the processor's cache,
    // and fetching a cache line takes as long as a hundred instructions.
    let reactor: Reactor
    /// The members' fast-path descriptors, or -1 where a plain send is not allowed.
    ///
    /// With them a pass need not read the streams.
    var descriptors: [Int32] = []
    /// Frames that wait for the next pass.
    var waiting = FrameBatch()
    /// Members below this index get the whole waiting batch; the others joined after its first frame.
    var whole: Int32 = 0
    /// Members below this index have yet to get the pass's batch; the pass counts down to zero.
    var cursor: Int32 = 0
    /// Whether the group is in the reactor's list, or delayed.
    var isDirty = false

    var streams: [Stream] = []
    /// The batch of a pass that takes several turns; empty between passes.
    var passBatch = FrameBatch()
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) var coalescing = FanOutCoalescing()
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) var deferral = FrameDeferral()
    /// Why the next pass has not begun although frames wait.
    var delay: Delay? {
        didSet { reactor.delayedGroups[ObjectIdentifier(self)] = delay == nil ? nil : self }
    }

    /// The counts of members that are behind, and the wait for them.
    ///
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) var readerWait = ReaderWait()
    /// Whether the next pass begins without waiting for readers that are behind.
    var ignoresLag = false
    /// Whether the waiting batch is over its limit: the members take frames more slowly than they are sent.
    public private(set) var isCongested = false
    private var reliefTarget: (any ReliefTarget)?
    /// The marks of the last frames of three batches; see ``mark(of:)``.
    ///
    /// They are the batch before the pass's, the pass's batch or the last one sent, and the waiting batch.
    var marks: (former: UInt64, passed: UInt64, waiting: UInt64) = (0, 0, 0)

    /// Why a pass is delayed, and the timer that ends the delay at the latest.
    enum Delay {
        /// To coalesce more frames; see ``FanOutCoalescing``.
        case coalescing(TimerID)
        /// All waiting frames may be deferred; see ``FrameDeferral``.
        case deferring(TimerID)
        /// Members are behind; see ``ReaderWait``.
        case readers(TimerID)
    }

    init(reactor: Reactor) { self.reactor = reactor }

    /// The number of members.
    public var count: Int { descriptors.count }

    /// The members, in no particular order.
    public var members: [Stream] { streams }

    /// Adds a stream, which gets the frames sent from now on.
    ///
    /// - Precondition: The stream is not a member.
    public func join(_ stream: Stream) {
        assert(stream.reactor === reactor)
        precondition(!stream.memberships.contains(self), "a stream is a member once")
        // At the end, past the cursor, so that the new member is not part of a pass under way.
        let (index, start) = (Int32(streams.count), UInt32(waiting.bytes.count))
        let membership = GroupMembership(group: self, start: start, index: index)
        change { streams, descriptors in
            streams.append(stream)
            descriptors.append(-1)
        }
        stream.put(membership)
        readerWait.count(stream.lag, 1)
        updateDescriptor(of: stream, at: membership)
    }

    /// Removes a stream; it still gets the frames sent before.
    ///
    /// Does nothing if the stream is not a member, as after its end.
    public func leave(_ stream: Stream) {
        guard let membership = stream.removeMembership(in: self) else { return }
        // The usual case: it has got everything already.
        guard membership.index < cursor || !waiting.isEmpty, !stream.obstacles.contains(.detached)
        else {
            return removeMember(membership)
        }
        let (passBatch, waiting) = (passBatch, waiting)
        let rest = membership.index < cursor ? passBatch.part(for: stream, from: 0) : []
        let start = membership.index < whole ? 0 : Int(membership.start)
        let next = waiting.isEmpty ? [] : waiting.part(for: stream, from: start)
        removeMember(membership)
        // Written now, so that the caller's next write comes after it.
        stream.write(rest)
        stream.write(next)
    }

    /// Sends a frame to all members at the end of the turn.
    ///
    /// - Parameters:
    ///   - frame: A complete frame; a member gets a whole number of them.
    ///   - except: A member that does not get the frame.
    ///   - substitute: A frame that this member gets instead; empty for none.
    ///   - delayMax: The longest delay, in milliseconds since such frames were last sent, for which the frame may wait
    ///     to share its sends with others; 0 for none. A frame that may not wait ends the delay.
    ///   - mark: The mark of the frame, for ``mark(of:)``, greater than those before; 0 for none.
    public func send(
        _ frame: [UInt8],
        except: Stream? = nil,
        substitute: [UInt8] = [],
        delayMax: UInt16 = 0,
        mark: UInt64 = 0
    ) {
        let count = descriptors.count
        guard !frame.isEmpty, count > 0 else { return }
        if mark != 0 { marks.waiting = mark }
        var batch = exchange(&waiting, with: FrameBatch())
        if batch.isEmpty { whole = Int32(count) }
        let excluded = except.flatMap { $0.memberships.count > 0 ? $0 : nil }
        batch.append(frame, except: excluded, substitute: substitute)
        reactor.inbound.charge(frame.count)
        if batch.bytes.count >= reactor.batchLengthMax || reactor.inbound.isFilling {
            isCongested = true
        }
        waiting = batch
        deferral.add(delayMax: delayMax)
        if !isDirty {
            isDirty = true
            if !startDelay() { reactor.dirtyGroups.append(self) }
        } else if isDelayOver(with: batch) {
            resume()
        }
    }

    /// The mark of the last frame that was handed to a member: sent, or queued behind what was written to it before.
    ///
    /// A pass takes several turns: the members behind its cursor have got its batch, the others only the one before.
    ///
    /// - Parameter stream: Any stream of the group's reactor.
    /// - Returns: The mark; 0 if the stream is not a member. Frames sent before it joined count too.
    public func mark(of stream: Stream) -> UInt64 {
        guard let membership = stream.memberships[self] else { return 0 }
        return membership.index < cursor ? marks.former : marks.passed
    }

    /// Resets all marks; later marks may be smaller.
    public func resetMarks() { marks = (0, 0, 0) }

    /// Sets the target that is called once, when the group is no longer congested; replaces an earlier one.
    public func notifyRelief(_ target: any ReliefTarget) {
        if isCongested { reliefTarget = target } else { reactor.relieve(target) }
    }

    /// Removes and returns the waiting frames, which ends congestion.
    func takeWaiting() -> FrameBatch {
        isCongested = false
        if let target = reliefTarget.take() { reactor.relieve(target) }
        return exchange(&waiting, with: FrameBatch())
    }

    /// Releases a batch that all members have got.
    func finish(_ batch: consuming FrameBatch) {
        reactor.inbound.refund(batch.bytes.count)
        batch.end()
    }

    /// Sets the member's fast-path descriptor, or -1 if a plain send is not allowed.
    func updateDescriptor(of stream: Stream, at membership: GroupMembership) {
        let descriptor = stream.obstacles.isEmpty ? stream.fd : -1
        change { _, descriptors in descriptors[Int(membership.index)] = descriptor }
    }

    /// Removes a member and fills its index, without disturbing a pass under way.
    func removeMember(_ membership: GroupMembership) {
        var hole = Int(membership.index)
        readerWait.count(streams[hole].lag, -1)
        // The last member of each section moves into the hole, so the hole moves to the end. No member crosses a
        // boundary, so none is served twice or skipped.
        if hole < cursor {
            cursor -= 1
            hole = move(Int(cursor), to: hole)
            if cursor == 0 { finish(exchange(&passBatch, with: FrameBatch())) }
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
        if var membership = stream.memberships[self] {
            membership.index = Int32(hole)
            stream.put(membership)
        }
        return source
    }

    /// Calls `body` with the members moved out of the group.
    ///
    /// So no access to its properties spans a call, the optimizer can prove each access exclusive, and a publish has no
    /// dynamic exclusivity checks.
    private func change(_ body: (inout [Stream], inout [Int32]) -> Void) {
        var (streams, descriptors) = (
            exchange(&streams, with: []), exchange(&descriptors, with: [])
        )
        body(&streams, &descriptors)
        self.streams = streams
        self.descriptors = descriptors
    }
}

/// Called when a ``StreamGroup`` is no longer congested.
public protocol ReliefTarget: AnyObject {
    /// Called once, from ``Reactor/relieveTargets()``, when publishers may continue.
    func groupRelieved()
}

extension Reactor {
    /// Makes an empty group.
    public func makeGroup() -> StreamGroup { StreamGroup(reactor: self) }

    /// Calls the targets of groups that are no longer congested.
    ///
    /// The resident calls this between `poll()` and `flush()`, or after both, because a target may send to any group.
    public func relieveTargets() {
        guard !relieved.isEmpty else { return }
        for target in exchange(&relieved, with: []) { target.groupRelieved() }
    }

    /// Schedules a call of `target` at the resident's next ``relieveTargets()``.
    public func relieve(_ target: any ReliefTarget) {
        relieved.append(target)
        // The next turn must not wait for an event.
        loop.wake()
    }
}
