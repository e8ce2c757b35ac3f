import FanfareClient
import Primitives

/// The tasks of a list, which connect its replica with its source.
extension LiveList {
    /// Listens to the source, again after each end, until the list is released.
    func listen() {
        let queue = SourceEventQueue<Row> { [weak self] events in self?.handle(events) }
        tasks.add { [source, options, weak self] in
            var failures = 0
            while !Task.isCancelled {
                let hasRows = Lock(false)
                var failure: any Error = LiveListError.sourceEnded
                do {
                    try await source.listen { event in
                        if event.hasRows { hasRows.exchange(true) }
                        await queue.enqueue(event)
                    }
                } catch {
                    failure = error
                }
                guard !Task.isCancelled else { return }
                await queue.enqueue(.failed(failure))
                if hasRows.load() { failures = 0 }
                guard self != nil, await Self.wait(failures, options) else { return }
                failures += 1
            }
        }
    }

    private func handle(_ events: [SourceEvent<Row>]) {
        var effects: [ListReplica<Row>.Effect] = []
        for event in events {
            switch event {
            case .subscribed: effects += replica.subscribed()
            case .resumed: effects += replica.resumed()
            case .offline(let error): replica.disconnected(error)
            case .change(let change): effects += replica.changed(change)
            case .unnumbered(let mutation, let operations):
                effects += replica.changed(operations, by: mutation)
            case .unreadable(let error): effects += replica.unreadable(error)
            case .snapshot(let snapshot): effects += replica.arrived(snapshot)
            case .failed(let error): effects += replica.failed(error)
            }
        }
        deliver()
        perform(effects)
    }

    /// Compares the list with its source at regular intervals.
    func checkRegularly() {
        guard let interval = options.checkInterval else { return }
        tasks.add { [options, weak self] in
            while await Self.sleep(interval, options) { self?.apply { $0.checkIsDue() } }
        }
    }

    /// Performs the effects of an input of the replica.
    func perform(_ effects: [ListReplica<Row>.Effect]) {
        for effect in effects {
            switch effect {
            case .fetch(let number, let failures): fetch(number, failures)
            case .send(let commit, let number, let failures): send(commit, number, failures)
            case .retrying(let edit): retries.send(edit)
            case .confirmed(let mutation):
                pendingEdits.removeValue(forKey: mutation)?.end(.success(()))
            case .refused(let commit, let error):
                pendingEdits.removeValue(forKey: commit.mutation)?.end(.failure(error))
                refusals.send(RefusedEdit(commit: commit, error: error))
            case .awaitChange: awaitChange()
            case .rest(let number, let time): rest(number, time)
            case .check: check()
            case .report(let error): errors.send(error)
            }
        }
    }

    /// Passes an input to the replica and delivers the result.
    private func apply(_ input: (inout ListReplica<Row>) -> [ListReplica<Row>.Effect]) {
        let effects = input(&replica)
        deliver()
        perform(effects)
    }

    private func fetch(_ number: Int, _ failures: Int) {
        tasks.add { [source, options, weak self] in
            guard await Self.wait(failures - 1, options) else { return }
            do {
                let snapshot = try await source.snapshot()
                self?.apply { $0.fetched(number, snapshot) }
            } catch {
                self?.apply { $0.fetchFailed(number, error) }
            }
        }
    }

    private func send(_ commit: ListCommit<Row>, _ number: Int, _ failures: Int) {
        tasks.add { [source, options, weak self] in
            guard await Self.wait(failures - 1, options),
                // Another attempt may have begun without a delay.
                self?.replica.isCurrent(number) == true
            else { return }
            do {
                let revision = try await source.commit(commit)
                self?.apply { $0.accepted(commit.mutation, revision: revision) }
            } catch let error as LiveListError {
                self?.apply { $0.refused(commit.mutation, error) }
            } catch {
                self?.apply { $0.unanswered(number, error) }
            }
        }
    }

    private func awaitChange() {
        tasks.add { [options, weak self] in
            if await Self.sleep(options.changeTimeout, options) {
                self?.apply { $0.changeIsDue() }
            }
        }
    }

    private func rest(_ number: Int, _ time: Duration) {
        tasks.add { [options, weak self] in
            if await Self.sleep(time, options) { self?.apply { $0.restIsOver(number) } }
        }
    }

    private func check() {
        guard !source.reportsMissedChanges else { return }
        tasks.add { [source, weak self] in
            do {
                let revision = try await source.revision()
                self?.apply { $0.checked(revision) }
            } catch {
                self?.errors.send(error)
            }
        }
    }

    /// Waits for the retry delay, or not at all if `failures` is negative; returns `false` after a cancellation.
    private static func wait(_ failures: Int, _ options: ListOptions) async -> Bool {
        guard failures >= 0 else { return !Task.isCancelled }
        var random = SystemRandomNumberGenerator()
        return await sleep(options.backoff.delay(failures: failures, using: &random), options)
    }

    /// Sleeps; returns `false` after a cancellation.
    private static func sleep(_ time: Duration, _ options: ListOptions) async -> Bool {
        (try? await options.clock.sleep(options.clock.now() + time)) != nil
    }
}

extension SourceEvent {
    /// Whether the event resets the count of consecutive failures, because the source works.
    fileprivate var hasRows: Bool {
        switch self {
        case .subscribed, .resumed, .change, .unnumbered, .snapshot: true
        case .offline, .unreadable, .failed: false
        }
    }
}
