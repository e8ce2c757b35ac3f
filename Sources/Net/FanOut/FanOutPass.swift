import Glibc

// The fan-out pass of a group. It visits the members from the last to the first.

/// The sends to groups that are left in this turn before the reactor polls again.
struct FanOutBudget {
    /// The number of members to send to.
    private var memberCount: Int
    /// The number of bytes to pass to the kernel.
    private var byteCount: Int

    /// Makes the budget of one turn.
    ///
    /// Sending 64 KiB to each of four members takes less time than short frames to 512.
    init(memberCount: Int = 512, byteCount: Int = 256 << 10) {
        self.memberCount = memberCount
        self.byteCount = byteCount
    }

    /// Whether nothing more may be sent in this turn.
    var isExhausted: Bool { memberCount <= 0 || byteCount <= 0 }

    /// Returns the number of members that `length` bytes can still be sent to; at least one.
    func memberCount(for length: Int) -> Int {
        max(1, min(memberCount, byteCount / max(length, 1)))
    }

    /// Subtracts what was sent.
    mutating func spend(memberCount: Int, length: Int) {
        self.memberCount -= memberCount
        byteCount -= memberCount * length
    }
}

extension StreamGroup {
    /// Sends to the next members, in descending order, and returns whether the group has nothing more to send now.
    ///
    /// The sends are subtracted from `budget`, the rest of this turn's budget.
    func runPass(_ budget: inout FanOutBudget) -> Bool {
        let begins = cursor == 0
        if begins, waitsForReaders() { return true }
        let first = begins ? descriptors.count : Int(cursor)
        let batch = begins ? begin() : exchange(&passBatch, with: FrameBatch())
        let lower = max(0, Int(cursor) - budget.memberCount(for: batch.bytes.count))
        send(batch, to: lower..<Int(cursor))
        cursor = Int32(lower)
        budget.spend(memberCount: first - lower, length: batch.bytes.count)
        guard lower == 0 else {
            if begins { coalescing.begin(frameCount: batch.frameCount, at: reactor.now) }
            passBatch = batch
            return false
        }
        finish(batch)
        if !begins { coalescing.end(at: reactor.readClock()) }
        isDirty = !waiting.isEmpty
        return !isDirty || startDelay()
    }

    /// Makes the waiting batch the pass's batch, and sends members that joined after its first frame their part of it.
    private func begin() -> FrameBatch {
        let batch = takeWaiting()
        (marks.former, marks.passed) = (marks.passed, marks.waiting)
        deferral.end(at: reactor.now)
        guard !batch.isEmpty else { return batch }
        cursor = min(whole, Int32(descriptors.count))
        for index in Int(cursor)..<descriptors.count {
            let stream = streams[index]
            let start = stream.memberships[self].map { Int($0.start) } ?? 0
            stream.sendOrQueue(batch.part(for: stream, from: start))
        }
        return batch
    }

    /// Sends a batch to some members.
    ///
    /// No delegate is called, so the members do not change meanwhile.
    private func send(_ batch: FrameBatch, to members: Range<Int>) {
        let frames = batch.bytes
        frames.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var index = members.upperBound
            while index > members.lowerBound {
                index -= 1
                let fd = descriptors[index]
                guard fd >= 0 else {
                    sendOrQueue(batch, to: streams[index])
                    continue
                }
                let sent = Socket.send(fd, base, bytes.count)
                if sent != bytes.count {
                    streams[index].queueUnsent(frames, sent: sent, code: errno)
                }
            }
        }
    }

    @inline(never)
    private func sendOrQueue(_ batch: FrameBatch, to stream: Stream) {
        let isWhole = !stream.obstacles.contains(.excluded)
        stream.sendOrQueue(isWhole ? batch.bytes : batch.part(for: stream, from: 0))
    }
}
