/// How far the reader at the other end of a stream is behind what was sent to it.
enum ReaderLag: UInt8 {
    /// At most ``lengthMax(queuedBytesMax:)`` bytes wait for it.
    case none
    /// More bytes wait for it, and it still reads: its groups wait for it if it is one of many.
    case behind
    /// More than half of the bytes wait for it that its queue holds, and it still reads: its groups wait for it, though
    /// not always. See ``ReaderPatience``.
    case farBehind
    /// More bytes wait for it, and it has taken next to nothing for some seconds: nobody waits for it.
    case stalled

    /// Whether a reader is behind and still reads.
    var isWaitedFor: Bool { self == .behind || self == .farBehind }

    /// The bytes that may wait for a reader that keeps up.
    ///
    /// - Parameter queuedBytesMax: The stream's ``StreamLimits/queuedBytesMax``: a reader has to be waited for long before
    ///   its queue is full.
    /// - Returns: 256 KiB, or a quarter of the limit where that is less.
    static func lengthMax(queuedBytesMax: Int) -> Int { min(256 << 10, queuedBytesMax / 4) }

    /// The bytes that a reader takes at least while a group waits for it; who takes fewer has stalled.
    static var progressMin: Int { 32 << 10 }
}

extension Stream {
    /// Compares the queue with what may wait for a reader that keeps up, and tells the groups of a change.
    ///
    /// Called when the kernel has refused bytes, and when it has taken some again: a stream without a backlog never
    /// comes here.
    @inline(never)
    func updateLag() {
        let queued = queuedByteCount
        let lengthMax = ReaderLag.lengthMax(queuedBytesMax: Int(queuedBytesMax))
        let isFar = queued > Int(queuedBytesMax) / 2
        switch lag {
        case .none: if queued > lengthMax, flags.contains(.blocked) { setLag(.behind) }
        // Half of it, so that a reader at the threshold does not change its state with every frame.
        case _ where queued <= lengthMax / 2: setLag(.none)
        // One that has taken nothing since it fell behind is not waited for at all.
        case .behind: if isFar { setLag(hasProgressed ? .farBehind : .stalled) }
        case .farBehind: if queued <= lengthMax { setLag(.behind) }
        case .stalled: if hasProgressed { setLag(isFar ? .farBehind : .behind) }
        }
    }

    /// Stops waiting for a reader that has taken next to nothing since the last call.
    func judgeProgress() {
        guard case .queue(let queue) = pendingOutput else { return }
        let progress = queue.takeProgress()
        if lag.isWaitedFor, progress < ReaderLag.progressMin { setLag(.stalled) }
    }

    private var hasProgressed: Bool {
        guard case .queue(let queue) = pendingOutput else { return true }
        return queue.progress >= ReaderLag.progressMin
    }

    private func setLag(_ new: ReaderLag) {
        let old = exchange(&lag, with: new)
        guard old != new else { return }
        seats.forEach { $0.group.lagChanged(from: old, to: new) }
    }
}
