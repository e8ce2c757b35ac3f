// Leaving groups, of which a stream may have joined thousands.
extension Stream {
    /// Groups that a stream leaves at once when it ends; more of them only when its owner, which may detach it, was told.
    static var seatCountLeftAtOnceMax: Int { 32 }

    /// Writes what waits for the stream in its groups, and takes nothing from them from then on.
    ///
    /// For an owner that closes a stream with thousands of groups, which take milliseconds to leave. The stream remains a
    /// member of each, past its end too, until the owner calls ``StreamGroup/leave(_:)``, some at a time. It may be called
    /// as late as in ``StreamDelegate/streamClosed(_:error:)``.
    public func detachFromGroups() {
        guard !obstacles.contains(.detached) else { return }
        if !isClosing {
            // Only these have frames that it has not got.
            for group in reactor.dirtyGroups where seats.contains(group) { group.leave(self) }
            for group in Array(reactor.delayedGroups.values) where seats.contains(group) {
                group.leave(self)
            }
        }
        obstacles.insert(.detached)
    }

    /// Leaves all groups without what waits in them; a stream that is detached stays.
    func leaveAllGroups() {
        guard !obstacles.contains(.detached) else { return }
        let all = exchange(&seats, with: .none)
        obstacles.remove(.shared)
        all.forEach { $0.group.vacate($0) }
    }
}
