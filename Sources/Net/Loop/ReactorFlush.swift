// Sending at the end of a turn, and the backlogs of streams whose peers read slowly.
extension Reactor {
    /// Sends what was written in this turn, and notifies delegates of the results.
    ///
    /// First sends each stream's own bytes, then the groups' frames (a part of them if there are many members), then
    /// what these caused. Streams closed in this turn are released at the end.
    public func flush() {
        precondition(!isPolling && !isFlushing, "flush() inside a turn")
        isFlushing = true
        defer { isFlushing = false }
        flushStreams()
        runFanOutPasses()
        repeat {
            flushStreams()
            if !notices.isEmpty {
                for (stream, notice) in exchange(&notices, with: []) { deliver(notice, to: stream) }
            }
            finishClosed()
            if !ledger.overLimit.isEmpty { enforceMemoryBudgets() }
        } while !dirty.isEmpty || !notices.isEmpty || !closed.isEmpty
    }

    private func flushStreams() {
        var streams = dirty.take()
        while let stream = streams.popLast() { stream.flush() }
        dirty.recycle(streams)
    }

    /// Notifies the delegates of ended streams, then breaks the reference cycle of stream and delegate.
    func finishClosed() {
        guard !closed.isEmpty else { return }
        var ends = closed.take()
        while let end = ends.popLast() {
            end.stream.currentDelegate.streamClosed(end.stream, error: end.error)
            if end.stream.groupCount > 0 { end.stream.leaveAllGroups() }
            end.stream.currentDelegate = NullStreamDelegate.shared
        }
        closed.recycle(ends)
    }

    private func deliver(_ notice: Notice, to stream: Stream) {
        guard stream.phase != .closed else { return }
        switch notice {
        case .failed(let error):
            if stream.currentDelegate.readsAfterFailedWrite(stream) { stream.readLast() }
            stream.end(with: error)
        case .drained:
            if stream.isOpen { stream.currentDelegate.streamDrained(stream) }
        case .relayed(let event): stream.currentDelegate.stream(stream, relayed: event)
        case .overflowed:
            stream.flags.remove(.overflowed)
            guard stream.isOpen else { return }
            stream.currentDelegate.streamOverflowed(stream)
            let (queued, limit) = (stream.queuedByteCount, Int(stream.queuedBytesMax))
            // A closing stream takes no more bytes and has a deadline.
            if stream.isOpen && queued > limit {
                stream.end(with: .overflow(queued: queued, limit: limit))
            }
        }
    }

    // MARK: Backlogs

    /// How long a turn may last, in nanoseconds, before writable streams with a backlog wait for the next turn.
    ///
    /// Each may send hundreds of KiB at once, and thousands may become writable at the same time.
    private static var drainTime: Int64 { 250_000 }

    var isDrainingLong: Bool {
        clock.now().nanoseconds - monotonicTime.nanoseconds > Self.drainTime
    }

    /// Sends backlogs, in the order in which the streams became writable; at least one in each turn.
    func drainBacklogs() {
        guard !backlogs.isEmpty else { return }
        var served = 0
        repeat {
            backlogs[served].serve()
            served += 1
        } while served < backlogs.count && !isDrainingLong
        backlogs.removeFirst(served)
    }

    /// Runs the passes of groups with frames, within this turn's budget, in the order of their first frames.
    ///
    /// A group whose pass takes several turns comes after the groups that begin in this turn. So a long pass of one
    /// channel does not delay the events of others by another turn.
    func runFanOutPasses() {
        var budget = FanOutBudget()
        if let first = dirtyGroups.first, first.cursor > 0, dirtyGroups.count > 1 {
            dirtyGroups.removeFirst()
            dirtyGroups.append(first)
        }
        var next = 0
        // Groups appended in this loop wait for the next turn.
        let end = dirtyGroups.count
        while !budget.isExhausted && next < end {
            let group = dirtyGroups[next]
            next += 1
            // A group with members left goes to the end of the list.
            if !group.runPass(&budget) { dirtyGroups.append(group) }
        }
        dirtyGroups.removeFirst(next)
    }

    /// The budget of all streams' queues together.
    public var queueBudget: MemoryBudget { ledger.total }

    /// Closes the connections with the longest queues until every budget over its threshold is below 7/8.
    func enforceMemoryBudgets() {
        for budget in ledger.takeOverLimit() {
            var streams = streams.compactMap { stream -> Stream? in
                guard let stream, stream.isOpen,
                    case .queue(let queue) = stream.pendingOutput, queue.isCounted,
                    budget === ledger.total || queue.budget === budget
                else { return nil }
                return stream
            }
            streams.sort { $0.queuedByteCount > $1.queuedByteCount }
            for stream in streams where budget.exceedsTarget {
                stream.currentDelegate.streamExceededBudget(stream, budget)
                if stream.isOpen {
                    stream.end(with: .memoryBudgetExceeded(limit: budget.byteCountMax))
                }
            }
            budget.raiseThreshold()
        }
    }
}
