/// When frames leave that may wait for others to share their sends, such as notices of who has joined a channel.
///
/// The first of them is sent at once. Those that come soon after it wait until it is as long ago as they may wait, or until
/// a frame comes that may not: so the order is kept, a single frame is not delayed, and of many that come one after the
/// other a member gets one send each time.
struct FrameDeferral {
    /// When frames that may wait were last sent.
    private var sentAt = MonotonicTime(nanoseconds: 0)
    /// How long the waiting frames may wait, in milliseconds; 0 while none waits that may.
    private var delayMax: UInt16 = 0
    /// Whether a frame waits that may not.
    private(set) var isUrgent = false

    /// Adds a frame to those that wait.
    ///
    /// - Parameter delayMax: How long it may wait, in milliseconds; 0 for not at all.
    mutating func add(delayMax: UInt16) {
        guard delayMax > 0 else { return isUrgent = true }
        self.delayMax = self.delayMax == 0 ? delayMax : min(self.delayMax, delayMax)
    }

    /// How long the waiting frames may still wait; `nil` for not at all.
    func rest(at now: MonotonicTime) -> Duration? {
        guard !isUrgent, delayMax > 0 else { return nil }
        let end = sentAt.advanced(by: .milliseconds(Int(delayMax)))
        return now < end ? now.duration(to: end) : nil
    }

    /// The waiting frames are being sent.
    mutating func end(at now: MonotonicTime) {
        if delayMax > 0 { sentAt = now }
        delayMax = 0
        isUrgent = false
    }
}
