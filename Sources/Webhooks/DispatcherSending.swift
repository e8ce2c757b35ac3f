internal import Broker
internal import Logging
internal import Primitives
internal import PusherProtocol

/// Sending, retries and abandoned webhooks.
extension Dispatcher {
    /// Creates the webhook of a batch, and queues it.
    func enqueue(_ batch: Batch, for key: EndpointKey) {
        lastID += 1
        let delivery = Delivery(
            id: lastID,
            endpoint: key,
            time: batch.originTime ?? clock.unixTime,
            events: batch.events,
            channels: batch.channels,
            origins: batch.origins
        )
        // Those of other queues need not be in the file.
        if delivery.origins.isEmpty { pendingWrites?.add(delivery) }
        append(delivery)
    }

    /// Adds a webhook to its endpoint's backlog; ``pendingWrites`` or the file already has it.
    func append(_ delivery: Delivery) {
        guard let state = endpoints[delivery.endpoint] else {
            return giveUp(delivery, .unconfigured, "the endpoint is no longer configured")
        }
        let now = clock.uptime
        var delivery = delivery
        // The uptime of another run or node is unknown, so only the calendar gives the age. The calendar may have been
        // set back.
        delivery.birth = now - max(0, clock.unixTime - delivery.time)
        let pushedOut = state.backlog.append(delivery, at: now)
        if state.backlog.isBusy(at: now) { settings.limitMet(.webhooksInFlight, 1) }
        guard !pushedOut.isEmpty else { return }
        settings.limitMet(
            state.backlog.isFull ? .webhooksQueued : .webhookBytesQueued,
            pushedOut.count
        )
        for old in pushedOut { giveUp(old, .overflow, "the endpoint's queue is full") }
    }

    func sendReady(of state: EndpointState, at now: Int64) {
        while let transport, let delivery = state.backlog.next(at: now) {
            guard !plan.isOver(since: delivery.birth, at: now) else {
                state.backlog.remove(delivery.id, at: now)
                giveUp(delivery, .expired, "it was too old before it could be sent")
                continue
            }
            let request = WebhookRequest(delivery, to: state.endpoint, of: state.app)
            sends[delivery.id] = Task {
                let outcome = await transport.send(request)
                self.completed(delivery, outcome)
            }
        }
    }

    /// Handles the outcome of an attempt.
    private func completed(_ delivery: Delivery, _ outcome: SendOutcome) {
        sends.removeValue(forKey: delivery.id)
        // None if a reload has removed the endpoint.
        let state = endpoints[delivery.endpoint]
        if outcome.isSuccess {
            tally.update { $0.delivered += 1 }
            state?.counts.delivered += 1
            state?.backlog.remove(delivery.id, at: clock.uptime)
            if delivery.origins.isEmpty { pendingWrites?.remove(delivery.id) }
            settle(delivery.origins, isDelivered: true)
            if let state { recordSuccess(of: state) }
        } else if phase != .stopped {
            tally.update { $0.failedAttempts += 1 }
            if let state { recordFailure(of: state, outcome) }
            retryOrGiveUp(delivery, of: state, outcome)
        }
        turn()
    }

    private func retryOrGiveUp(
        _ delivery: Delivery,
        of state: EndpointState?,
        _ outcome: SendOutcome
    ) {
        let now = clock.uptime
        let isWithdrawn = isWithdrawn(delivery)
        let isGone = outcome == .answered(status: 410)
        if let state, !isWithdrawn, !isGone,
            let pause = plan.pause(for: delivery, at: now, random: &random)
        {
            return state.backlog.postpone(delivery.id, until: now + pause)
        }
        state?.backlog.remove(delivery.id, at: now)
        guard !isWithdrawn else { return forget(delivery.origins) }
        giveUp(
            delivery,
            isGone ? .gone : state == nil ? .unconfigured : .exhausted,
            outcome.complaint
        )
    }

    /// Turns a webhook that is in no backlog into a dead letter.
    func giveUp(_ delivery: Delivery, _ cause: DeadLetter.Cause, _ detail: String) {
        pendingWrites?.add(
            DeadLetter(
                delivery: delivery,
                cause: cause,
                detail: detail,
                deathTime: clock.unixTime
            )
        )
        tally.update { $0.dead += 1 }
        endpoints[delivery.endpoint]?.counts.dead += 1
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

    private func recordFailure(of state: EndpointState, _ outcome: SendOutcome) {
        state.counts.failedAttempts += 1
        state.counts.lastError = outcome.complaint
        state.counts.lastErrorTime = clock.unixTime
        guard !state.isFailing else { return }
        state.isFailing = true
        log.warning(
            "a webhook endpoint fails; webhooks are retried",
            metadata: [
                "app": "\(state.key.app)", "url": "\(state.key.url.withoutURLSecrets)",
                "reason": "\(outcome.complaint)",
            ]
        )
    }

    private func recordSuccess(of state: EndpointState) {
        guard state.isFailing else { return }
        state.isFailing = false
        log.info(
            "a webhook endpoint works again",
            metadata: ["app": "\(state.key.app)", "url": "\(state.key.url.withoutURLSecrets)"]
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
