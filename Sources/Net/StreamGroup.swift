import Glibc

/// Streams that receive the same bytes: the fan-out.
///
/// Frames sent in one turn are joined into a batch, encoded once and shared by reference; at the end
/// of the turn each member gets the batch with one send. A group of many is walked in shares, between
/// which the reactor polls, and frames sent meanwhile gather in the next batch.
///
/// Each member gets, in order and once each, exactly the frames sent between its `join` and its
/// `leave`. The streams must belong to the group's reactor; a stream that ends leaves by itself.
public final class StreamGroup {
    // What every walk touches comes first: of a thousand groups nothing is in the processor's cache,
    // and each line of it that is fetched takes as long as a hundred instructions.
    private let reactor: Reactor
    /// The members' descriptors, or -1 for one to which bytes cannot simply be sent: so a walk need
    /// not touch the streams.
    private var descriptors: [Int32] = []
    /// Frames that wait for the next walk.
    private var waiting = FrameBatch()
    /// Members before it get the waiting batch whole; later ones joined in the middle of it.
    private var whole: Int32 = 0
    /// Members before it have yet to get the batch being walked: the walk goes down to zero.
    private var cursor: Int32 = 0
    /// Whether it is in the reactor's list, or pauses.
    private var isDirty = false

    private var streams: [Stream] = []
    /// The batch of a walk that takes several turns; empty between walks.
    private var walking = FrameBatch()
    /// A value that calls nothing while it changes: exclusive access is unchecked.
    @exclusivity(unchecked) private var pace = WalkPace()
    /// The end of the pause before the next walk.
    private var pause: TimerID?

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
        let (index, start) = (Int32(streams.count), Int32(waiting.bytes.count))
        let seat = Seat(group: self, index: index, start: start)
        change { streams, descriptors in
            streams.append(stream)
            descriptors.append(-1)
        }
        stream.put(seat)
        noteWhetherFree(stream, at: seat)
    }

    /// Takes a stream out; what was sent before still reaches it.
    ///
    /// One that is no member, or no longer, as after its end, is no fault.
    public func leave(_ stream: Stream) {
        guard let seat = stream.takeSeat(in: self) else { return }
        // Mostly it has had all there is.
        guard seat.index < cursor || !waiting.isEmpty else { return vacate(seat) }
        let (walking, waiting) = (walking, waiting)
        let rest = seat.index < cursor ? walking.part(for: stream, from: 0) : []
        let start = seat.index < whole ? 0 : Int(seat.start)
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
    public func send(_ frame: [UInt8], except: Stream? = nil) {
        let count = descriptors.count
        guard !frame.isEmpty, count > 0 else { return }
        var batch = exchange(&waiting, with: FrameBatch())
        if batch.isEmpty { whole = Int32(count) }
        batch.append(frame, except: except.flatMap { $0.seats.count > 0 ? $0 : nil })
        waiting = batch
        if !isDirty {
            isDirty = true
            if !beginPause() { reactor.dirtyGroups.append(self) }
        } else if pause != nil && pace.isWorthWhile(batch.frameCount) {
            resume()
        }
    }

    /// Notes whether bytes can simply be sent to a member.
    func noteWhetherFree(_ stream: Stream, at seat: Seat) {
        let descriptor = stream.obstacles.isEmpty ? stream.fd : -1
        change { _, descriptors in descriptors[Int(seat.index)] = descriptor }
    }

    /// Fills the place of a member that has left, without disturbing a walk.
    func vacate(_ seat: Seat) {
        var hole = Int(seat.index)
        // Each boundary gives up its last member to the hole, which so moves up to the end: nobody
        // crosses a boundary, so nobody is served twice or left out.
        if hole < cursor {
            cursor -= 1
            hole = move(Int(cursor), to: hole)
            if cursor == 0 { exchange(&walking, with: FrameBatch()).end() }
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
        if descriptors.isEmpty { exchange(&waiting, with: FrameBatch()).end() }
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

    // MARK: The walk

    /// Bytes given to the kernel in one share, however few members that is.
    private static var shareLengthMax: Int { 16 << 20 }

    /// Sends to the next members, from the end down.
    ///
    /// - Parameter limit: How many members at most.
    /// - Returns: How many members were served, and whether the group has nothing more to do now.
    func walk(atMost limit: Int) -> (served: Int, isDone: Bool) {
        let begins = cursor == 0
        let first = begins ? descriptors.count : Int(cursor)
        let batch = begins ? begin() : exchange(&walking, with: FrameBatch())
        let share = max(16, min(limit, Self.shareLengthMax / max(batch.bytes.count, 1)))
        let lower = max(0, Int(cursor) - share)
        send(batch, to: lower..<Int(cursor))
        cursor = Int32(lower)
        let served = first - lower
        guard lower == 0 else {
            if begins { pace.begin(frameCount: batch.frameCount, at: reactor.now) }
            walking = batch
            return (served, false)
        }
        batch.end()
        if !begins { pace.end(at: reactor.readClock()) }
        isDirty = !waiting.isEmpty
        return (served, !isDirty || beginPause())
    }

    /// Lets the frames that wait for the next walk wait for others too, if the pace has it so.
    ///
    /// - Returns: Whether there is a pause, which ``resume()`` ends.
    private func beginPause() -> Bool {
        guard let rest = pace.pause(before: waiting.frameCount, at: reactor.now) else {
            return false
        }
        pause = reactor.schedule(after: rest, .resume(self))
        return true
    }

    /// Makes the waiting batch the one that is walked; those who joined in its middle get their part.
    private func begin() -> FrameBatch {
        let batch = exchange(&waiting, with: FrameBatch())
        guard !batch.isEmpty else { return batch }
        cursor = min(whole, Int32(descriptors.count))
        for index in Int(cursor)..<descriptors.count {
            let stream = streams[index]
            let start = stream.seats[self].map { Int($0.start) } ?? 0
            stream.deliver(batch.part(for: stream, from: start))
        }
        return batch
    }

    /// Sends a batch to some members.
    ///
    /// Nobody joins or leaves meanwhile, because no owner is called.
    private func send(_ batch: FrameBatch, to members: Range<Int>) {
        let frames = batch.bytes
        frames.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var index = members.upperBound
            while index > members.lowerBound {
                index -= 1
                let fd = descriptors[index]
                guard fd >= 0 else {
                    deliver(batch, to: streams[index])
                    continue
                }
                let sent = Socket.send(fd, base, bytes.count)
                if sent != bytes.count {
                    streams[index].refused(frames, sent: sent, code: errno)
                }
            }
        }
    }

    @inline(never)
    private func deliver(_ batch: FrameBatch, to stream: Stream) {
        let isWhole = !stream.obstacles.contains(.excluded)
        stream.deliver(isWhole ? batch.bytes : batch.part(for: stream, from: 0))
    }

    /// Ends the pause.
    func resume() {
        if let pause = pause.take() { reactor.cancel(pause) }
        reactor.dirtyGroups.append(self)
    }
}

extension Stream {
    /// Makes an empty group for streams of the same reactor.
    public func makeGroup() -> StreamGroup { reactor.makeGroup() }
}

extension Reactor {
    /// Members served in one turn before the reactor polls again.
    private static var shareCountMax: Int { 512 }

    /// Makes an empty group.
    public func makeGroup() -> StreamGroup { StreamGroup(reactor: self) }

    /// Serves the groups that have frames, each its share, in the order in which they got them.
    func walkGroups() {
        var rest = Self.shareCountMax
        var next = 0
        // Those put behind the others wait for the next turn.
        let end = dirtyGroups.count
        while rest > 0 && next < end {
            let group = dirtyGroups[next]
            let (served, isDone) = group.walk(atMost: rest)
            rest -= served
            next += 1
            // A group with members left goes behind the others.
            if !isDone { dirtyGroups.append(group) }
        }
        dirtyGroups.removeFirst(next)
    }
}
