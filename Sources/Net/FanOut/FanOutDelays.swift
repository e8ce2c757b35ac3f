// The delays of a group's passes: to join more frames, to defer notices, and for readers that are behind.

extension StreamGroup {
    /// Starts the coalescing delay, if one is due, and returns whether the pass is delayed until ``resume()``.
    func startDelay() -> Bool {
        if let rest = deferral.remainingDelay(at: reactor.now) {
            delay = .deferring(reactor.schedule(after: rest, .resume(self)))
        } else if let rest = coalescing.delay(for: waiting.frameCount, at: reactor.now) {
            delay = .coalescing(reactor.schedule(after: rest, .resume(self)))
        } else {
            return false
        }
        return true
    }

    /// Whether the pass is to begin before the delay ends.
    func isDelayOver(with batch: FrameBatch) -> Bool {
        switch delay {
        case .coalescing: coalescing.isLargeEnough(batch.frameCount)
        case .deferring: deferral.isUrgent || isCongested
        case .readers, nil: false
        }
    }

    /// Starts the wait for readers, if enough of them are behind, and returns whether the pass is delayed.
    func waitsForReaders() -> Bool {
        guard !ignoresLag, let wait = readerWait.begin(memberCount: count, at: reactor.now) else {
            ignoresLag = false
            return false
        }
        delay = .readers(reactor.schedule(after: wait, .resume(self)))
        return true
    }

    /// Updates the member counts when a reader falls behind or catches up.
    func lagChanged(from old: ReaderLag, to new: ReaderLag) {
        readerWait.count(old, -1)
        readerWait.count(new, 1)
        resumeIfReadersCaughtUp()
    }

    func resumeIfReadersCaughtUp() {
        if case .readers = delay, !readerWait.isNeeded(memberCount: count) { resume() }
    }

    /// Called when the timer of the delay fires.
    func delayEnded() {
        if case .readers = delay {
            // Stalled readers must not delay the next pass again.
            for stream in streams where stream.lag.isWaitedFor { stream.checkProgress() }
            ignoresLag = true
        }
        resume()
    }

    /// Ends the delay; the pass begins with the others of this turn.
    func resume() {
        switch delay.take() {
        case .coalescing(let timer), .deferring(let timer): reactor.cancel(timer)
        case .readers(let timer):
            reactor.cancel(timer)
            readerWait.end(at: reactor.now)
        // The readers caught up while their progress was checked.
        case nil: return
        }
        reactor.dirtyGroups.append(self)
    }
}
