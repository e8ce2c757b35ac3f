import Glibc

/// What a stream has to send and the kernel has not accepted yet, as references to shared buffers.
///
/// A stream has one only while it holds bytes; the reactor keeps a few empty ones for the next.
final class OutputQueue {
    /// How many buffers one system call takes.
    static let vectorCountMax = 64

    /// The most bytes of a buffer that is copied behind another rather than referred to.
    static let shortLengthMax = 256
    /// The most bytes of short buffers that are gathered in one.
    static let gatheredLengthMax = 2_016

    private var buffers: [[UInt8]] = []
    /// Whether short buffers may be added to the last one: it is nobody else's.
    private var gathers = false
    /// The index of the first buffer that is not sent; those before it are empty.
    private var first = 0
    /// How many bytes of the first buffer have been accepted.
    private var offset = 0
    /// Bytes queued.
    private(set) var byteCount = 0
    /// Bytes accepted since ``takeProgress()``.
    private(set) var progress = 0
    /// Where its buffers are counted, once the kernel has refused some; until it is empty.
    private var held: QueuedBufferLedger?
    /// Whose buffers they are.
    private(set) var account: MemoryBudget?

    /// Whether its buffers are counted.
    var isHeld: Bool { held != nil }

    /// Counts its buffers, and those to come.
    func hold(in held: QueuedBufferLedger, for account: MemoryBudget?) {
        assert(!isHeld)
        (self.held, self.account) = (held, account)
        for buffer in buffers[first...] { held.retain(buffer, for: account) }
    }

    var isEmpty: Bool { byteCount == 0 }

    /// Adds a buffer, of which the bytes before `start` have been sent already.
    ///
    /// - Precondition: The queue is empty, or `start` is 0.
    func append(_ bytes: [UInt8], from start: Int = 0) {
        assert(start < bytes.count && (start == 0 || isEmpty))
        if isEmpty { offset = start }
        buffers.append(bytes)
        gathers = false
        byteCount += bytes.count - start
        held?.retain(bytes, for: account)
    }

    /// Adds a buffer that is written to this queue alone; short ones are gathered.
    ///
    /// A buffer costs some 50 bytes besides its own. A peer that asks for answers of two bytes and reads none of them
    /// would make a queue cost 28 times what it counts.
    func gather(_ bytes: [UInt8]) {
        let last = buffers.count - 1
        // Never the first one: the kernel, or TLS, may have begun with it.
        guard gathers, last > first, bytes.count <= Self.shortLengthMax,
            buffers[last].count + bytes.count <= Self.gatheredLengthMax
        else {
            append(bytes)
            gathers = bytes.count <= Self.shortLengthMax
            return
        }
        held?.release(buffers[last])
        if buffers[last].capacity < buffers[last].count + bytes.count {
            buffers[last].reserveCapacity(Self.gatheredLengthMax)
        }
        buffers[last].append(contentsOf: bytes)
        held?.retain(buffers[last], for: account)
        byteCount += bytes.count
    }

    /// Returns how many bytes have been accepted since the last call, or since the queue was last empty.
    func takeProgress() -> Int { exchange(&progress, with: 0) }

    /// The buffers that are held, for a test.
    var bufferCount: Int { buffers.count - first }

    /// Offers the first buffers to the kernel in one call.
    ///
    /// - Parameters:
    ///   - fd: The socket.
    ///   - flags: As of send(2).
    /// - Returns: The bytes accepted, which are removed; negative as sendmsg(2).
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

    /// Points the vectors at the buffers, one level of the stack each: so all are lent at once.
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

    /// Lends the first bytes in one piece and leaves them queued.
    ///
    /// - Parameters:
    ///   - limit: How many bytes at most.
    ///   - room: Where to gather them, if they lie in several buffers; `limit` bytes.
    ///   - body: Called with the first byte and their number; the queue is not empty.
    /// - Returns: What `body` returns.
    func withFirst<R>(
        _ limit: Int,
        _ room: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawPointer, Int) -> R?
    ) -> R? {
        let first = buffers[first]
        guard first.count - offset >= min(limit, byteCount) else {
            let count = copy(to: room)
            return room.baseAddress.flatMap { body($0, count) }
        }
        return first.withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap { body($0 + offset, min(bytes.count - offset, limit)) }
        }
    }

    /// Copies the first bytes, as many as fit, and returns how many.
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

    /// Removes the first bytes, which have been accepted.
    func remove(_ count: Int) {
        assert(count <= byteCount)
        byteCount -= count
        progress += count
        if byteCount == 0 { return clear() }
        var rest = count
        while rest >= buffers[first].count - offset {
            rest -= buffers[first].count - offset
            held?.release(buffers[first])
            buffers[first] = []
            first += 1
            offset = 0
        }
        offset += rest
        // A queue that never empties must not keep the places of what it has sent.
        if first >= 64 && first * 2 >= buffers.count {
            buffers.removeFirst(first)
            first = 0
        }
    }

    /// Drops the buffers of which no byte has been accepted, nor is among the first `promised`.
    func discard(promised: Int) {
        var kept = 0
        var index = first
        while index < buffers.count {
            let start = index == first ? offset : 0
            guard start > 0 || kept < promised else { break }
            kept += buffers[index].count - start
            index += 1
        }
        if let held { for buffer in buffers[index...] { held.release(buffer) } }
        buffers.removeLast(buffers.count - index)
        gathers = false
        byteCount = kept
        if kept == 0 { clear() }
    }

    /// Drops everything and keeps a little room for the next use.
    func clear() {
        if let held {
            for buffer in buffers[first...] { held.release(buffer) }
            (self.held, account) = (nil, nil)
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
