/// What a stream has to send: mostly nothing, or the one buffer that was written in this turn.
enum PendingOutput {
    case nothing
    /// A buffer of which the kernel has accepted nothing.
    case buffer([UInt8])
    case queue(OutputQueue)

    /// How many bytes wait for the kernel.
    var byteCount: Int {
        switch self {
        case .nothing: 0
        case .buffer(let bytes): bytes.count
        case .queue(let queue): queue.byteCount
        }
    }

    /// Whether no bytes wait for the kernel.
    var isEmpty: Bool { byteCount == 0 }
}

extension Stream {
    /// The queue, to which a single buffer is moved first.
    func makeQueue() -> OutputQueue {
        if case .queue(let queue) = pendingOutput { return queue }
        let queue = reactor.takeQueue()
        if case .buffer(let bytes) = pendingOutput { queue.append(bytes) }
        pendingOutput = .queue(queue)
        return queue
    }

    /// Drops what is pendingOutput.
    func clearPendingOutput() {
        if case .queue(let queue) = pendingOutput {
            queue.clear()
            reactor.giveBack(queue)
        }
        pendingOutput = .nothing
    }

    /// How the kernel is offered what is pendingOutput: once the stream closes, the end follows when all of it is accepted.
    private var sendFlags: Int32 {
        phase == .draining ? Socket.lastSendFlags : Socket.sendFlags
    }

    /// Offers what is pendingOutput to the kernel, as much of it as one call takes.
    ///
    /// - Returns: The bytes accepted, which are removed; negative as sendmsg(2).
    func offerPendingOutput() -> Int {
        switch pendingOutput {
        case .nothing: return 0
        case .queue(let queue): return queue.send(to: fd, flags: sendFlags)
        case .buffer: return offerBuffer()
        }
    }

    /// The same, of a single buffer: it is moved out of the stream, for mostly the kernel takes all of it.
    private func offerBuffer() -> Int {
        guard case .buffer(let bytes) = exchange(&pendingOutput, with: .nothing) else { return 0 }
        let sent = Socket.send(fd, bytes, flags: sendFlags)
        guard sent != bytes.count else { return sent }
        pendingOutput = .buffer(bytes)
        if sent > 0 { makeQueue().remove(sent) }
        return sent
    }
}
