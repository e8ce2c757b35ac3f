import LiveRows

/// The edits of a replica: applied at once, sent one at a time, then confirmed or reverted.
extension ListReplica {
    /// Returns an editor with a copy of the rows, for ``commit(_:mutation:)``.
    package func editor() -> ListEditor<Row> { ListEditor(tracked.keyed) }

    /// Applies an editor's operations immediately; the rows may have changed since the editor was created.
    package mutating func commit(_ editor: ListEditor<Row>, mutation: String) -> [Effect] {
        commit(editor.operations, ifRevision: editor.ifRevision, mutation: mutation)
    }

    /// Applies operations immediately, by ID.
    mutating func commit(
        _ operations: [ListOperation<Row>],
        ifRevision: UInt64?,
        mutation: String
    ) -> [Effect] {
        guard !operations.isEmpty else { return [] }
        let commit = ListCommit(mutation: mutation, operations: operations, ifRevision: ifRevision)
        if let error = limitError(for: operations) { return [.refused(commit, error)] }
        let inverses = operations.compactMap { tracked.apply($0) }
        // The rows of the operations may have been removed meanwhile.
        guard !inverses.isEmpty else { return [] }
        if let error = rowLimitError(for: operations) {
            for inverse in inverses.reversed() { _ = tracked.apply(inverse) }
            return [.refused(commit, error)]
        }
        pending.append(Pending(commit: commit, inverses: inverses))
        return sendNext()
    }

    private func limitError(for operations: [ListOperation<Row>]) -> LiveListError? {
        if pending.count >= options.pendingEditsMax {
            return .tooManyPendingEdits(limit: options.pendingEditsMax)
        }
        guard operations.count > options.operationsMax else { return nil }
        return .tooManyOperations(count: operations.count, limit: options.operationsMax)
    }

    private func rowLimitError(for operations: [ListOperation<Row>]) -> LiveListError? {
        let hasPut = operations.contains { if case .put = $0 { true } else { false } }
        guard hasPut, rows.count > options.rowsMax else { return nil }
        return .tooManyRows(count: rows.count, limit: options.rowsMax)
    }

    // MARK: Answers

    /// Handles the acceptance of an edit; `revision` is `nil` when the source does not number changes.
    package mutating func accepted(_ mutation: String, revision: UInt64?) -> [Effect] {
        answered(mutation)
        // An edit that was sent twice has two answers; the first counts.
        guard let index = unansweredIndex(of: mutation) else { return sendNext() }
        var effects: [Effect] = [.confirmed(mutation: mutation)]
        if let revision {
            pending[index].revision = revision
            if let own = self.revision, revision <= own {
                rebase(without: [index]) { _ in }
            } else if awaitedRevision == nil {
                effects += awaitChange()
            }
        } else {
            // The latest update of the source, or the next one, contains the edit. Until then the edit counts as one of
            // the source's changes.
            let operations = pending[index].hasNewerUpdate ? [] : pending[index].commit.operations
            rebase(without: [index]) { tracked in
                for operation in operations { _ = tracked.apply(operation) }
            }
        }
        effects += sendNext()
        return effects
    }

    /// The highest revision of the accepted edits whose changes have not arrived.
    var acceptedRevision: UInt64? { pending.compactMap(\.revision).max() }

    mutating func awaitChange() -> [Effect] {
        awaitedRevision = acceptedRevision
        return [.awaitChange]
    }

    /// Handles the refusal of an edit: reverts it.
    package mutating func refused(_ mutation: String, _ error: any Error) -> [Effect] {
        answered(mutation)
        guard let index = unansweredIndex(of: mutation) else { return sendNext() }
        return revert(index, error) + sendNext()
    }

    private mutating func revert(_ index: Int, _ error: any Error) -> [Effect] {
        let commit = pending[index].commit
        rebase(without: [index]) { _ in }
        return [.refused(commit, error)]
    }

    /// Handles an attempt without a usable answer: sends the edit again with the same ID, or gives it up.
    package mutating func unanswered(_ number: Int, _ error: any Error) -> [Effect] {
        guard var sending, sending.number == number else { return [] }
        guard let index = unansweredIndex(of: sending.mutation) else {
            answered(sending.mutation)
            return sendNext()
        }
        sending.attempts += 1
        // Without a connection, failures are expected: the edit waits for the connection.
        if outage == nil { sending.countedAttempts += 1 }
        if let limit = options.commitAttemptsMax, sending.countedAttempts >= limit {
            answered(sending.mutation)
            let failure = LiveListError.unanswered(attempts: sending.attempts, reason: "\(error)")
            return revert(index, failure) + sendNext()
        }
        sending.failures += 1
        let commit = pending[index].commit
        let retried = RetriedEdit(commit: commit, error: error, attempts: sending.attempts)
        retriedEdit = retried
        return [.retrying(retried), send(commit, sending)]
    }

    /// Whether an attempt is the current one; other attempts need not be sent.
    func isCurrent(_ number: Int) -> Bool { sending?.number == number }

    /// Retries a waiting edit without delay, because the connection is back.
    mutating func retryNow() -> [Effect] {
        guard var sending, sending.failures > 0,
            let edit = pending.first(where: { $0.commit.mutation == sending.mutation })
        else { return [] }
        sending.failures = 0
        return [send(edit.commit, sending)]
    }

    private mutating func send(_ commit: ListCommit<Row>, _ last: Sending) -> Effect {
        sendNumber += 1
        var sending = last
        sending.number = sendNumber
        self.sending = sending
        return .send(commit, number: sendNumber, failures: sending.failures)
    }

    /// Sends the next edit if the previous one is answered.
    mutating func sendNext() -> [Effect] {
        guard sending == nil, let next = pending.first(where: { $0.revision == nil }) else {
            return []
        }
        return [send(next.commit, Sending(mutation: next.commit.mutation, number: 0))]
    }

    private func unansweredIndex(of mutation: String) -> Int? {
        pending.firstIndex { $0.commit.mutation == mutation && $0.revision == nil }
    }

    private mutating func answered(_ mutation: String) {
        guard sending?.mutation == mutation else { return }
        sending = nil
        retriedEdit = nil
    }

    // MARK: Edits and the source's rows

    /// Removes the pending edits that the rows already contain.
    mutating func settle(_ isSettled: (Pending) -> Bool) -> [Effect] {
        let settled = pending.indices.filter { isSettled(pending[$0]) }
        guard !settled.isEmpty else { return [] }
        let effects = confirm(settled)
        rebase(without: Set(settled)) { _ in }
        return effects + sendNext()
    }

    mutating func confirm(_ settled: [Int]) -> [Effect] {
        var effects: [Effect] = []
        for edit in settled.map({ pending[$0] }) {
            answered(edit.commit.mutation)
            // An answer with a revision has already confirmed the edit.
            if edit.revision == nil {
                effects.append(.confirmed(mutation: edit.commit.mutation))
            }
        }
        return effects
    }

    /// Records that the source sent an update while an edit is in flight.
    mutating func markNewerUpdate() {
        guard let sending else { return }
        for index in pending.indices where pending[index].commit.mutation == sending.mutation {
            pending[index].hasNewerUpdate = true
        }
    }

    /// Reverts the pending edits, changes the writer's rows and reapplies the edits.
    mutating func rebase(
        without dropped: Set<Int>,
        _ change: (inout TrackedRows<Row>) -> Void
    ) {
        for edit in pending.reversed() {
            for inverse in edit.inverses.reversed() { _ = tracked.apply(inverse) }
        }
        change(&tracked)
        pending = pending.indices.filter { !dropped.contains($0) }.map { pending[$0] }
        for index in pending.indices {
            pending[index].inverses = pending[index].commit.operations.compactMap {
                tracked.apply($0)
            }
        }
    }
}
