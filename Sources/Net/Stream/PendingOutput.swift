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

extension Stream {
    /// Returns the queue; makes it and moves the single buffer there if needed.
    func makeQueue() -> OutputQueue {
        if case .queue(let queue) = pendingOutput { return queue }
        let queue = reactor.takeQueue()
        if case .buffer(let bytes) = pendingOutput { queue.append(bytes) }
        pendingOutput = .queue(queue)
        return queue
    }

    /// Calls `body` with each queued buffer of which the kernel has accepted nothing, in order, until it returns false.
    public func forEachUnsentBuffer(_ body: ([UInt8]) -> Bool) {
        switch pendingOutput {
        case .nothing: break
        case .buffer(let bytes): _ = body(bytes)
        case .queue(let queue): queue.forEachUnsentBuffer(body)
        }
    }

    /// Drops the unsent bytes.
    func clearPendingOutput() {
        if case .queue(let queue) = pendingOutput {
            queue.clear()
            reactor.recycle(queue)
        }
        pendingOutput = .nothing
    }

    /// The flags of the next send.
    ///
    /// While the stream closes, a FIN follows the last bytes.
    private var sendFlags: Int32 {
        phase == .draining ? Socket.lastSendFlags : Socket.sendFlags
    }

    /// Sends as many of the unsent bytes as one system call takes, removes them and returns their number; negative as
    /// for sendmsg(2).
    func offerPendingOutput() -> Int {
        switch pendingOutput {
        case .nothing: return 0
        case .queue(let queue): return queue.send(to: fd, flags: sendFlags)
        case .buffer: return offerBuffer()
        }
    }

    /// The same for a single buffer, which is moved out of the stream, because the kernel mostly accepts all of it.
    private func offerBuffer() -> Int {
        guard case .buffer(let bytes) = exchange(&pendingOutput, with: .nothing) else { return 0 }
        let sent = Socket.send(fd, bytes, flags: sendFlags)
        guard sent != bytes.count else { return sent }
        pendingOutput = .buffer(bytes)
        if sent > 0 { makeQueue().remove(sent) }
        return sent
    }
}
