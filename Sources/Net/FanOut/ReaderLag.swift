/// How far a stream's peer is behind in reading what was sent to it.
enum ReaderLag: UInt8 {
    /// At most ``lengthMax(queuedBytesMax:)`` bytes are queued.
    case none
    /// More bytes are queued, and the peer still reads. Its groups wait for it when many members are behind.
    case behind
    /// The queue is more than half full, and the peer still reads. Its groups sometimes wait for it; see
    /// ``ReaderWait``.
    case farBehind
    /// More bytes are queued, and the peer has read almost nothing for some seconds. No group waits for it.
    case stalled

    /// Whether the peer is behind and still reads.
    var isWaitedFor: Bool { self == .behind || self == .farBehind }

    /// Returns the maximum length of the queue of a peer that keeps up, in bytes.
    ///
    /// It is 256 KiB, or a quarter of ``StreamLimits/queuedBytesMax`` if that is less.
    static func lengthMax(queuedBytesMax: Int) -> Int { min(256 << 10, queuedBytesMax / 4) }

    /// The fewest bytes that a peer must read while a group waits for it, or the peer counts as stalled.
    static var progressMin: Int { 32 << 10 }
}

extension Stream {
    /// Updates the lag from the queue's length, and notifies the groups of a change.
    ///
    /// Called when the kernel has refused bytes, and when it has accepted some again; never for a stream without a
    /// backlog.
    @inline(never)
    func updateLag() {
        let queued = queuedByteCount
        let lengthMax = ReaderLag.lengthMax(queuedBytesMax: Int(queuedBytesMax))
        let isFar = queued > Int(queuedBytesMax) / 2
        switch lag {
        case .none: if queued > lengthMax, flags.contains(.blocked) { setLag(.behind) }
        // Half of the limit, so that a reader at the threshold does not change its state with every frame.
        case _ where queued <= lengthMax / 2: setLag(.none)
        // A peer that has read nothing since it fell behind is not waited for at all.
        case .behind: if isFar { setLag(hasProgressed ? .farBehind : .stalled) }
        case .farBehind: if queued <= lengthMax { setLag(.behind) }
        case .stalled: if hasProgressed { setLag(isFar ? .farBehind : .behind) }
        }
    }

    /// Marks the peer as stalled if it has read almost nothing since the last call.
    func checkProgress() {
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
        memberships.forEach { $0.group.lagChanged(from: old, to: new) }
    }
}
