/// The tasks of a text: they receive events, fetch missing entries and send local edits.
///
/// While they wait for the source or a delay, they reference the text weakly, so that releasing the text ends them.
extension LiveText {
    /// Loads the text, then receives and sends edits, until ``stop()`` or until the text is released.
    ///
    /// Does nothing if it is already running. It may be called again after ``stop()``.
    public func start() {
        guard tasks.isEmpty else { return }
        failures = Failures()
        // The signals of a cancelled task have ended.
        (fetching, sending) = (RequestLoop(options), RequestLoop(options))
        tasks = [receivingTask(), fetchingTask(), sendingTask()]
        sending.wake()
    }

    /// Stops loading, receiving and sending; the text and its unsent edits stay for the next ``start()``.
    public func stop() {
        guard !tasks.isEmpty else { return }
        for task in tasks { task.cancel() }
        tasks = []
        isConnected = false
        failures = Failures(connection: "the text is stopped: start() connects it again")
    }

    // MARK: Receiving

    private func receivingTask() -> Task<Void, Never> {
        Task { [weak self, source, options] in
            while !Task.isCancelled {
                for await event in source.news() {
                    guard !Task.isCancelled else { return }
                    self?.handle(event)
                }
                guard !Task.isCancelled else { return }
                self?.handle(.disconnected(reason: "the source has no more events"))
                try? await options.sleep(options.retryDelay.lowerBound)
            }
        }
    }

    private func handle(_ event: TextSourceEvent) {
        switch event {
        case .connected:
            session.reconnected()
            connected()
        case .resumed: connected()
        case .disconnected(let reason):
            isConnected = false
            failures.connection = reason
            fetching.wake()
        case .gap:
            session.reconnected()
            fetching.wake()
        case .entry(let entry):
            let count = utf16Count
            notify(session.receive(entry), before: count)
            // Nothing is unsent any more: a batch whose answer was lost has been accepted.
            if session.unsent.isEmpty { failures.sending = nil }
            if session.fetch != nil { fetching.wake() }
        }
    }

    private func connected() {
        isConnected = true
        failures.connection = nil
        // The backend can probably be reached again too.
        sending.wake(endsDelay: true)
        fetching.wake(endsDelay: true)
    }

    // MARK: Fetching

    private func fetchingTask() -> Task<Void, Never> {
        Task { [weak self, source, fetching] in
            while await fetching.waitForWork() {
                var last: TextSession.Fetch?
                while let request = self?.request {
                    // The request is the same as before: the answer was outdated.
                    if request == last, await !fetching.waitToRetry() { return }
                    last = request
                    do {
                        let answer = try await source.answer(to: request)
                        guard !Task.isCancelled else { return }
                        self?.fetched(answer)
                    } catch {
                        guard !Task.isCancelled else { return }
                        self?.failures.fetching = "\(error)"
                        guard await fetching.waitToRetry() else { return }
                        last = nil
                    }
                }
                fetching.resetDelay()
                self?.endFetching()
            }
        }
    }

    /// The next request to make, if any.
    ///
    /// Missed entries are requested once the connection is back; the text is also requested without a connection.
    private var request: TextSession.Fetch? {
        guard let request = session.fetch else { return nil }
        return request == .snapshot || isConnected ? request : nil
    }

    private func fetched(_ answer: TextRecovery) {
        let count = utf16Count
        notify(session.fetched(answer), before: count)
        failures.fetching = nil
        for edits in session.takeRefusedEdits() { refusalObservers.send(edits) }
    }

    private func endFetching() {
        updateStatus()
        sending.wake()
    }

    // MARK: Sending

    private func sendingTask() -> Task<Void, Never> {
        Task { [weak self, source, options, sending] in
            var isStale = false
            while await sending.waitForWork() {
                guard self?.hasWork == true else { continue }
                guard (try? await options.sleep(options.sendingDelay)) != nil else { return }
                while let batch = self?.takeBatch() {
                    var outcome = TextSession.Outcome.unknown
                    var failure: String?
                    do {
                        try await source.send(batch)
                        outcome = .accepted
                    } catch let refusal as TextRefusal {
                        outcome = .refused(refusal)
                    } catch {
                        failure = "\(error)"
                    }
                    if Task.isCancelled {
                        self?.sent(batch, outcome, failure: nil)
                        // The task of a later start() may wait for the outcome.
                        self?.sending.wake()
                        return
                    }
                    self?.sent(batch, outcome, failure: failure)
                    switch outcome {
                    case .accepted:
                        sending.resetDelay()
                        isStale = false
                    case .refused(.stale):
                        // Twice in a row: the text that the backend returns is not the text that it edits.
                        if isStale, await !sending.waitToRetry() { return }
                        isStale = true
                    case .refused: isStale = false
                    case .unknown:
                        guard await sending.waitToRetry() else { return }
                    }
                }
            }
        }
    }

    private var hasWork: Bool { session.isLoaded && !session.unsent.isEmpty }

    private func takeBatch() -> TextBatch? { session.nextBatch() }

    private func sent(_ batch: TextBatch, _ outcome: TextSession.Outcome, failure: String?) {
        session.sent(batch, outcome: outcome)
        failures.sending = failure
        if session.fetch != nil { fetching.wake() }
    }
}

extension TextSource {
    fileprivate func answer(to request: TextSession.Fetch) async throws -> TextRecovery {
        switch request {
        case .snapshot: .snapshot(try await snapshot())
        case .entries(let serial, let epoch): try await recovery(after: serial, epoch: epoch)
        }
    }
}
