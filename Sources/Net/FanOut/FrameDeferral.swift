/// The delay of frames that may be deferred to share a send with others, such as notices that members have joined.
///
/// The first such frame is sent at once. The following ones wait until the allowed delay since the last such send has
/// passed, or an urgent frame is sent. The order of frames is kept, and a single frame is not delayed. A burst costs
/// each member one send per delay.
struct FrameDeferral {
    /// The time of the last send of deferrable frames.
    private var sentAt = MonotonicTime(nanoseconds: 0)
    /// The shortest delay that the waiting frames allow, in milliseconds; 0 if none may wait.
    private var delayMax: UInt16 = 0
    /// Whether a waiting frame may not be delayed.
    private(set) var isUrgent = false

    /// Adds a frame that may be delayed by at most `delayMax` milliseconds; 0 for no delay.
    mutating func add(delayMax: UInt16) {
        guard delayMax > 0 else { return isUrgent = true }
        self.delayMax = self.delayMax == 0 ? delayMax : min(self.delayMax, delayMax)
    }

    /// Returns how long the waiting frames may still wait; `nil` if they are due.
    func remainingDelay(at now: MonotonicTime) -> Duration? {
        guard !isUrgent, delayMax > 0 else { return nil }
        let end = sentAt.advanced(by: .milliseconds(Int(delayMax)))
        return now < end ? now.duration(to: end) : nil
    }

    /// Records that the waiting frames are being sent.
    mutating func end(at now: MonotonicTime) {
        if delayMax > 0 { sentAt = now }
        delayMax = 0
        isUrgent = false
    }
}
