import Glibc

// The fan-out pass of a group, which is walked from its last member down.

/// What one turn may still send to groups before the reactor polls again.
struct FanOutShare {
    /// Members to send to.
    private var memberCount: Int
    /// Bytes to give to the kernel.
    private var byteCount: Int

    /// Makes the share of a turn: 64 KiB for each of four members take less time than short frames for 512.
    init(memberCount: Int = 512, byteCount: Int = 256 << 10) {
        self.memberCount = memberCount
        self.byteCount = byteCount
    }

    /// Whether nothing more is to be sent in this turn.
    var isUsedUp: Bool { memberCount <= 0 || byteCount <= 0 }

    /// The members to which `length` bytes each can be sent; at least one.
    func memberCount(for length: Int) -> Int {
        max(1, min(memberCount, byteCount / max(length, 1)))
    }

    /// Subtracts what was sent.
    mutating func use(memberCount: Int, length: Int) {
        self.memberCount -= memberCount
        byteCount -= memberCount * length
    }
}

extension StreamGroup {
    /// Sends to the next members, from the end down.
    ///
    /// - Parameter share: What this turn may still send; what is sent is subtracted.
    /// - Returns: Whether the group has nothing more to do now.
    func walk(_ share: inout FanOutShare) -> Bool {
        let begins = cursor == 0
        if begins, waitsForReaders() { return true }
        let first = begins ? descriptors.count : Int(cursor)
        let batch = begins ? begin() : exchange(&walking, with: FrameBatch())
        let lower = max(0, Int(cursor) - share.memberCount(for: batch.bytes.count))
        send(batch, to: lower..<Int(cursor))
        cursor = Int32(lower)
        share.use(memberCount: first - lower, length: batch.bytes.count)
        guard lower == 0 else {
            if begins { pace.begin(frameCount: batch.frameCount, at: reactor.now) }
            walking = batch
            return false
        }
        finish(batch)
        if !begins { pace.end(at: reactor.readClock()) }
        isDirty = !waiting.isEmpty
        return !isDirty || beginPause()
    }

    /// Makes the waiting batch the one that is walked; those who joined in its middle get their part.
    private func begin() -> FrameBatch {
        let batch = takeWaiting()
        deferral.end(at: reactor.now)
        guard !batch.isEmpty else { return batch }
        cursor = min(whole, Int32(descriptors.count))
        for index in Int(cursor)..<descriptors.count {
            let stream = streams[index]
            let start = stream.seats[self].map(\.start) ?? 0
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

    // MARK: Delays

    /// Starts the coalescing delay, if one is due.
    ///
    /// - Returns: Whether the walk is delayed until ``resume()``.
    func beginPause() -> Bool {
        if let rest = deferral.rest(at: reactor.now) {
            delay = .deferring(reactor.schedule(after: rest, .resume(self)))
        } else if let rest = pace.pause(before: waiting.frameCount, at: reactor.now) {
            delay = .coalescing(reactor.schedule(after: rest, .resume(self)))
        } else {
            return false
        }
        return true
    }

    /// Whether frames that wait are worth a walk before the delay ends.
    func isDelayOver(with batch: FrameBatch) -> Bool {
        switch delay {
        case .coalescing: pace.isWorthWhile(batch.frameCount)
        case .deferring: deferral.isUrgent || isCongested
        case .readers, nil: false
        }
    }

    private func waitsForReaders() -> Bool {
        guard !ignoresLag, let wait = patience.begin(memberCount: count, at: reactor.now) else {
            ignoresLag = false
            return false
        }
        delay = .readers(reactor.schedule(after: wait, .resume(self)))
        return true
    }

    /// Counts a member otherwise as its reader falls behind or catches up.
    func lagChanged(from old: ReaderLag, to new: ReaderLag) {
        patience.count(old, -1)
        patience.count(new, 1)
        resumeIfReadersCaughtUp()
    }

    func resumeIfReadersCaughtUp() {
        if case .readers = delay, !patience.isWanted(memberCount: count) { resume() }
    }

    /// Called when the timer of the delay fires.
    func delayEnded() {
        if case .readers = delay {
            // Readers that take nothing must not delay the next walk again.
            for stream in streams where stream.lag.isWaitedFor { stream.judgeProgress() }
            ignoresLag = true
        }
        resume()
    }

    /// Ends the delay: the walk begins with this turn's.
    func resume() {
        switch delay.take() {
        case .coalescing(let timer), .deferring(let timer): reactor.cancel(timer)
        case .readers(let timer):
            reactor.cancel(timer)
            patience.end(at: reactor.now)
        // The readers caught up while the progress of each was judged.
        case nil: return
        }
        reactor.dirtyGroups.append(self)
    }
}

extension Reactor {
    /// Sends to the groups that have frames, to each its share, in the order in which they got them.
    ///
    /// A group whose walk takes several turns comes behind those that begin in this one, so that a long walk of one
    /// channel does not delay the events of others by another turn.
    func walkGroups() {
        var share = FanOutShare()
        if let first = dirtyGroups.first, first.cursor > 0, dirtyGroups.count > 1 {
            dirtyGroups.removeFirst()
            dirtyGroups.append(first)
        }
        var next = 0
        // Those put behind the others wait for the next turn.
        let end = dirtyGroups.count
        while !share.isUsedUp && next < end {
            let group = dirtyGroups[next]
            next += 1
            // A group with members left goes behind the others.
            if !group.walk(&share) { dirtyGroups.append(group) }
        }
        dirtyGroups.removeFirst(next)
    }
}
