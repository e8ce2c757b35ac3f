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

    /// Returns the lag that follows, with a queue of this many bytes and this limit.
    ///
    /// The kernel accepts nothing if `isBlocked`; the peer has read ``progressMin`` if `hasProgressed`.
    func updated(queued: Int, limit: Int, isBlocked: Bool, hasProgressed: Bool) -> ReaderLag {
        let lengthMax = Self.lengthMax(queuedBytesMax: limit)
        let isFar = queued > limit / 2
        return switch self {
        case .none: queued > lengthMax && isBlocked ? .behind : .none
        // Half of the limit, so that a reader at the threshold does not change its state with every frame.
        case _ where queued <= lengthMax / 2: .none
        // A peer that has read nothing since it fell behind is not waited for at all.
        case .behind: !isFar ? .behind : hasProgressed ? .farBehind : .stalled
        case .farBehind: queued <= lengthMax ? .behind : .farBehind
        case .stalled: !hasProgressed ? .stalled : isFar ? .farBehind : .behind
        }
    }
}
