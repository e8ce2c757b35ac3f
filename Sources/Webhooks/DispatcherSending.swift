internal import Broker
internal import Logging
internal import Primitives
internal import PusherProtocol

/// Sending, retries and abandoned webhooks.
extension Dispatcher {
    /// Creates a webhook and queues it.
    ///
    /// - Parameters:
    ///   - events: The objects of `events`, separated by commas.
    ///   - channels: The channels of the events, each once.
    ///   - key: The endpoint.
    ///   - origins: The events that another queue keeps, so that the file need not keep them.
    ///   - time: The time of the first of those; `nil` for now.
    func enqueue(
        _ events: [UInt8],
        on channels: [String],
        for key: EndpointKey,
        _ origins: [QueuedEvent.ID] = [],
        at time: Int64? = nil
    ) {
        lastID += 1
        let now = clock.unixTime
        let delivery = Delivery(
            id: lastID,
            endpoint: key,
            time: time ?? now,
            events: events,
            channels: channels,
            origins: origins,
            birth: clock.uptime - max(0, now - (time ?? now))
        )
        if origins.isEmpty { pendingWrites.keep(delivery) }
        append(delivery)
    }

    /// Adds a webhook to its endpoint's backlog; ``pendingWrites`` or the file already has it.
    func append(_ delivery: Delivery) {
        let now = clock.uptime
        guard let pushedOut = states[delivery.endpoint]?.backlog.append(delivery, at: now) else {
            return giveUp(delivery, .unconfigured, "the endpoint is no longer configured")
        }
        if states[delivery.endpoint]?.backlog.isBusy(at: now) == true {
            settings.limitMet(.webhooksInFlight, 1)
        }
        if !pushedOut.isEmpty, let backlog = states[delivery.endpoint]?.backlog {
            settings.limitMet(
                backlog.isFull ? .webhooksQueued : .webhookBytesQueued,
                pushedOut.count
            )
        }
        for old in pushedOut {
            giveUp(old, .overflow, "the endpoint's queue is full")
        }
    }

    /// Raises the last ID to that of the file, so that new IDs follow it.
    func advanceID(beyond id: Int64) { lastID = max(lastID, id) }

    func sendReady(of key: EndpointKey, at now: Int64) {
        while let delivery = states[key]?.backlog.next(at: now) {
            guard let state = states[key], let app = apps[key.app], let transport else { return }
            guard !plan.isOver(since: delivery.birth, at: now) else {
                states[key]?.backlog.remove(delivery.id, at: now)
                giveUp(delivery, .expired, "it was too old before it could be sent")
                continue
            }
            let request = WebhookRequest(delivery, to: state.endpoint, of: app)
            sends[delivery.id] = Task {
                let outcome = await transport.send(request)
                self.completed(delivery, outcome)
            }
        }
    }

    /// Handles the outcome of an attempt.
    private func completed(_ delivery: Delivery, _ outcome: SendOutcome) {
        sends.removeValue(forKey: delivery.id)
        let key = delivery.endpoint
        if outcome.isSuccess {
            tally.update { $0.delivered += 1 }
            states[key]?.counts.delivered += 1
            states[key]?.backlog.remove(delivery.id, at: clock.uptime)
            if delivery.origins.isEmpty { pendingWrites.finish(delivery.id) }
            settle(delivery.origins, isDelivered: true)
            recordSuccess(of: key)
        } else if phase != .stopped {
            tally.update { $0.failedAttempts += 1 }
            recordFailure(of: key, outcome)
            retryOrGiveUp(delivery, outcome)
        }
        turn()
    }

    private func retryOrGiveUp(_ delivery: Delivery, _ outcome: SendOutcome) {
        let (key, now) = (delivery.endpoint, clock.uptime)
        guard !isWithdrawn(delivery) else {
            states[key]?.backlog.remove(delivery.id, at: now)
            return forget(delivery.origins)
        }
        let pause = plan.pause(for: delivery, at: now, random: &random)
        if let pause, states[key] != nil, outcome != .answered(status: 410) {
            states[key]?.backlog.postpone(delivery.id, until: now + pause)
            return
        }
        let cause: DeadLetter.Cause =
            if outcome == .answered(status: 410) { .gone } else if states[key] == nil {
                .unconfigured
            } else { .exhausted }
        states[key]?.backlog.remove(delivery.id, at: now)
        giveUp(delivery, cause, outcome.complaint)
    }

    /// Turns a webhook that is in no backlog into a dead letter.
    func giveUp(_ delivery: Delivery, _ cause: DeadLetter.Cause, _ detail: String) {
        pendingWrites.addDeadLetter(
            DeadLetter(delivery, cause: cause, detail: detail, at: clock.unixTime)
        )
        tally.update { $0.dead += 1 }
        states[delivery.endpoint]?.counts.dead += 1
        settle(delivery.origins, isDelivered: false)
        guard let count = deadLetterLog.count(at: clock.uptime) else { return }
        log.error(
            "webhooks were given up, see `fanfare webhooks`",
            metadata: [
                "app": "\(delivery.endpoint.app)",
                "url": "\(delivery.endpoint.url.withoutURLSecrets)",
                "count": "\(count)", "last": "\(detail)",
            ]
        )
    }

    private func recordFailure(of key: EndpointKey, _ outcome: SendOutcome) {
        states[key]?.counts.failedAttempts += 1
        states[key]?.counts.lastError = outcome.complaint
        states[key]?.counts.lastErrorTime = clock.unixTime
        guard states[key]?.isFailing == false else { return }
        states[key]?.isFailing = true
        log.warning(
            "a webhook endpoint fails; webhooks are retried",
            metadata: [
                "app": "\(key.app)", "url": "\(key.url.withoutURLSecrets)",
                "reason": "\(outcome.complaint)",
            ]
        )
    }

    private func recordSuccess(of key: EndpointKey) {
        guard states[key]?.isFailing == true else { return }
        states[key]?.isFailing = false
        log.info(
            "a webhook endpoint works again",
            metadata: ["app": "\(key.app)", "url": "\(key.url.withoutURLSecrets)"]
        )
    }

    func recordDrop(of count: Int) {
        tally.update { $0.dropped += count }
        settings.limitMet(.webhooksQueued, count)
        guard let count = dropLog.count(count, at: clock.uptime) else { return }
        log.error(
            "reports for webhooks came faster than they were processed; the oldest were dropped",
            metadata: ["count": "\(count)"]
        )
    }
}

extension Dispatcher {
    /// The counts of each endpoint's webhooks, in no particular order.
    var endpointReports: [EndpointReport] {
        states.map { key, state in
            EndpointReport(
                app: key.app,
                url: key.url,
                ordinal: key.ordinal,
                counts: state.counts,
                queued: state.backlog.count,
                isFailing: state.isFailing
            )
        }
    }
}
