/// Checks of what is there when everything is written, and all devices are connected.
extension ArchiveWorld {
    func check() throws {
        for tracker in trackers where tracker.replayCount > 0 {
            throw Violation(
                .recovery,
                "device \(tracker.number) waits for \(tracker.replayCount) messages of a replay"
            )
        }
        try checkBudgets()
        for channel in Self.channels { try checkHistory(of: channel) }
    }

    /// Checks that nothing waits for the archive, or is counted as waiting.
    func checkBudgets() throws {
        guard archive.unstoredByteCount == 0 else {
            throw Violation(.budgets, "\(archive.unstoredByteCount) bytes wait for the archive")
        }
        let sizes = broker.tableSizes()
        for table in ["events that wait for the archive", "requests that wait for the archive"]
        where sizes[table] > 0 {
            throw Violation(.budgets, "\(sizes[table]) \(table)")
        }
    }

    private func checkHistory(of channel: String) throws {
        let pipe = try broker.connect(to: number(shardCount))
        let query = StoredRequest(
            historyOf: channel,
            pipe,
            unixTime: Self.epoch + Int64(environment.milliseconds / 1_000)
        )
        requests.append(query)
        try settle()
        guard let answer = query.answer, answer.status == 200, let page = answer.history else {
            throw Violation(
                .answers,
                "the history of \(channel): \(String(describing: query.answer))"
            )
        }
        try model.check(page.messages, of: channel, at: page.position)
        for tracker in trackers where tracker.channel == channel {
            guard tracker.position == page.position else {
                throw Violation(
                    .recovery,
                    "device \(tracker.number) is at \(String(describing: tracker.position)), and \(channel) at \(page.position)"
                )
            }
        }
    }
}
