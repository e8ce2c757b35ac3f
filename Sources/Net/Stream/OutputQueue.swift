import Glibc

/// A stream's bytes that the kernel has not accepted yet, as references to shared buffers.
///
/// A stream has a queue only while bytes are queued; the reactor keeps a few empty ones for reuse.
final class OutputQueue {
    /// The maximum number of buffers in one system call.
    static let vectorCountMax = 64

    /// The maximum number of bytes of a buffer that is copied to the end of another instead of being referenced.
    static let shortLengthMax = 256
    /// The maximum number of bytes of short buffers gathered in one.
    static let gatheredLengthMax = 2_016

    private var buffers: [[UInt8]] = []
    /// Whether short buffers may be appended to the last one, because it is not shared.
    private var gathers = false
    /// The index of the first unsent buffer; those before it are empty.
    private var first = 0
    /// The number of accepted bytes of the first unsent buffer.
    private var offset = 0
    /// The number of queued bytes.
    private(set) var byteCount = 0
    /// The number of bytes accepted since the last ``takeProgress()``.
    private(set) var progress = 0
    /// The ledger that counts the buffers, from when the kernel refuses bytes until the queue is empty.
    private var ledger: QueuedBufferLedger?
    /// The budget that the buffers are charged to, besides the reactor's.
    private(set) var budget: MemoryBudget?

    /// Whether the buffers are counted in a ledger.
    var isCounted: Bool { ledger != nil }

    /// Counts the buffers in a ledger, and those added later.
    func count(in ledger: QueuedBufferLedger, for budget: MemoryBudget?) {
        assert(!isCounted)
        (self.ledger, self.budget) = (ledger, budget)
        for buffer in buffers[first...] { ledger.retain(buffer, for: budget) }
    }

    var isEmpty: Bool { byteCount == 0 }

    /// Appends a buffer whose bytes before `start` have been sent already.
    ///
    /// - Precondition: The queue is empty, or `start` is 0.
    func append(_ bytes: [UInt8], from start: Int = 0) {
        assert(start < bytes.count && (start == 0 || isEmpty))
        if isEmpty { offset = start }
        buffers.append(bytes)
        gathers = false
        byteCount += bytes.count - start
        ledger?.retain(bytes, for: budget)
    }

    /// Appends a buffer that no other queue refers to; short ones are gathered.
    ///
    /// A buffer takes about 50 bytes in addition to its contents. A peer may request two-byte answers and read none of
    /// them. Without gathering, its queue would take 28 times the memory that it counts.
    func gather(_ bytes: [UInt8]) {
        let last = buffers.count - 1
        // Never the first one: a part of it may be sent, or TLS may have to retry it.
        guard gathers, last > first, bytes.count <= Self.shortLengthMax,
            buffers[last].count + bytes.count <= Self.gatheredLengthMax
        else {
            append(bytes)
            gathers = bytes.count <= Self.shortLengthMax
            return
        }
        ledger?.release(buffers[last])
        if buffers[last].capacity < buffers[last].count + bytes.count {
            buffers[last].reserveCapacity(Self.gatheredLengthMax)
        }
        buffers[last].append(contentsOf: bytes)
        ledger?.retain(buffers[last], for: budget)
        byteCount += bytes.count
    }

    /// Returns the number of bytes accepted since the last call, or since the queue was last empty.
    func takeProgress() -> Int { exchange(&progress, with: 0) }

    /// The number of queued buffers, for tests.
    var bufferCount: Int { buffers.count - first }

    /// Sends the first buffers with one system call and removes the accepted bytes from the queue.
    ///
    /// The flags are those of send(2). Returns the number of bytes accepted; negative as for sendmsg(2).
    func send(to fd: Int32, flags: Int32) -> Int {
        let sent: Int
        if first == buffers.count - 1 {
            sent = buffers[first].withUnsafeBytes {
                let count = $0.count - offset
                return $0.baseAddress.map { Socket.send(fd, $0 + offset, count, flags: flags) } ?? 0
            }
        } else {
            sent = withUnsafeTemporaryAllocation(of: iovec.self, capacity: Self.vectorCountMax) {
                vectors in
                fill(vectors, at: 0) { count in
                    var message = msghdr()
                    message.msg_iov = vectors.baseAddress
                    message.msg_iovlen = count
                    return sendmsg(fd, &message, flags)
                }
            }
        }
        if sent > 0 { remove(sent) }
        return sent
    }

    /// Points the vectors at the buffers.
    ///
    /// Each buffer takes one stack frame, in which its pointer is valid.
    private func fill(
        _ vectors: UnsafeMutableBufferPointer<iovec>,
        at index: Int,
        _ body: (Int) -> Int
    ) -> Int {
        guard index < vectors.count, first + index < buffers.count else { return body(index) }
        let start = index == 0 ? offset : 0
        return buffers[first + index].withUnsafeBytes { bytes in
            let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            vectors[index] = iovec(iov_base: base.map { $0 + start }, iov_len: bytes.count - start)
            return fill(vectors, at: index + 1, body)
        }
    }

    /// Calls `body` with the first bytes in one contiguous piece; they stay queued.
    ///
    /// - Precondition: The queue is not empty.
    /// - Parameters:
    ///   - limit: The maximum number of bytes.
    ///   - buffer: Memory of `limit` bytes, in which the bytes are gathered if they are in several buffers.
    ///   - body: Called with a pointer to the bytes and their number.
    /// - Returns: The result of `body`.
    func withFirst<R>(
        _ limit: Int,
        _ buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawPointer, Int) -> R?
    ) -> R? {
        let first = buffers[first]
        guard first.count - offset >= min(limit, byteCount) else {
            let count = copy(to: buffer)
            return buffer.baseAddress.flatMap { body($0, count) }
        }
        return first.withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap { body($0 + offset, min(bytes.count - offset, limit)) }
        }
    }

    /// Removes and returns all bytes.
    func takeAll() -> [UInt8] {
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            count = copy(to: UnsafeMutableRawBufferPointer(buffer))
        }
        remove(byteCount)
        return bytes
    }

    /// Copies as many of the first bytes as fit, and returns their number.
    private func copy(to target: UnsafeMutableRawBufferPointer) -> Int {
        var copied = 0
        var index = first
        while index < buffers.count && copied < target.count {
            let start = index == first ? offset : 0
            let count = min(buffers[index].count - start, target.count - copied)
            buffers[index].withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
                UnsafeMutableRawBufferPointer(rebasing: target[copied...]).copyMemory(from: part)
            }
            copied += count
            index += 1
        }
        return copied
    }

    /// Removes the first bytes, which the kernel has accepted.
    func remove(_ count: Int) {
        assert(count <= byteCount)
        byteCount -= count
        progress += count
        if byteCount == 0 { return clear() }
        var rest = count
        while rest >= buffers[first].count - offset {
            rest -= buffers[first].count - offset
            ledger?.release(buffers[first])
            buffers[first] = []
            first += 1
            offset = 0
        }
        offset += rest
        // A queue that is never empty must not keep the slots of sent buffers.
        if first >= 64 && first * 2 >= buffers.count {
            buffers.removeFirst(first)
            first = 0
        }
    }

    /// Calls `body` with each buffer of which the kernel has accepted nothing, in order, until it returns false.
    func forEachUnsentBuffer(_ body: ([UInt8]) -> Bool) {
        for buffer in buffers.dropFirst(offset > 0 ? first + 1 : first) {
            guard body(buffer) else { return }
        }
    }

    /// Drops the buffers, except those that are partly sent or that contain one of the first `retryLength` bytes.
    func discard(keeping retryLength: Int) {
        var kept = 0
        var index = first
        while index < buffers.count {
            let start = index == first ? offset : 0
            guard start > 0 || kept < retryLength else { break }
            kept += buffers[index].count - start
            index += 1
        }
        if let ledger { for buffer in buffers[index...] { ledger.release(buffer) } }
        buffers.removeLast(buffers.count - index)
        gathers = false
        byteCount = kept
        if kept == 0 { clear() }
    }

    /// Drops everything; keeps a small capacity for reuse.
    func clear() {
        if let ledger {
            for buffer in buffers[first...] { ledger.release(buffer) }
            (self.ledger, budget) = (nil, nil)
        }
        if buffers.count == 1 {
            buffers.removeLast()
        } else {
            buffers.removeAll(keepingCapacity: buffers.capacity <= Self.vectorCountMax)
        }
        first = 0
        offset = 0
        byteCount = 0
        progress = 0
        gathers = false
    }
}

/// A stream's unsent bytes: mostly none, or the one buffer that was written in this turn.
enum PendingOutput {
    case nothing
    /// A single buffer, no byte of which the kernel has accepted.
    case buffer([UInt8])
    case queue(OutputQueue)

    /// The number of unsent bytes.
    var byteCount: Int {
        switch self {
        case .nothing: 0
        case .buffer(let bytes): bytes.count
        case .queue(let queue): queue.byteCount
        }
    }

    /// Whether there are no unsent bytes.
    var isEmpty: Bool { byteCount == 0 }
}
