internal import Broker
internal import Logging
internal import PusherProtocol

/// What becomes of webhooks: sent, tried again, delivered or given up.
extension Dispatcher {
    /// Makes a webhook that is sent from now on.
    func enqueue(_ events: [UInt8], on channels: [String], for key: EndpointKey) {
        lastID += 1
        let delivery = Delivery(
            id: lastID,
            endpoint: key,
            time: clock.unixTime,
            events: events,
            channels: channels,
            birth: clock.uptime
        )
        pendingWrites.keep(delivery)
        take(delivery)
    }

    /// Puts a webhook that the pendingWrites knows into its endpoint's backlog.
    func take(_ delivery: Delivery) {
        let now = clock.uptime
        guard let pushedOut = states[delivery.endpoint]?.backlog.append(delivery, at: now) else {
            return die(delivery, .unconfigured, "the app has no such endpoint any more")
        }
        if states[delivery.endpoint]?.backlog.isBusy(at: now) == true {
            settings.met(.webhooksInFlight, 1)
        }
        if !pushedOut.isEmpty, let backlog = states[delivery.endpoint]?.backlog {
            settings.met(backlog.isFull ? .webhooksQueued : .webhookBytesQueued, pushedOut.count)
        }
        for old in pushedOut {
            die(old, .overflow, "more webhooks waited for the endpoint than the queue holds")
        }
    }

    /// Ids go on behind those that the file knows.
    func advanceID(beyond id: Int64) { lastID = max(lastID, id) }

    func sendReady(of key: EndpointKey, at now: Int64) {
        while let delivery = states[key]?.backlog.next(at: now) {
            guard let state = states[key], let app = apps[key.app], let transport else { return }
            guard !plan.isOver(since: delivery.birth, at: now) else {
                states[key]?.backlog.remove(delivery.id, at: now)
                die(delivery, .expired, "it could not be sent before it was too old")
                continue
            }
            let request = WebhookRequest(delivery, to: state.endpoint, of: app)
            sends[delivery.id] = Task {
                let outcome = await transport.send(request)
                self.ended(delivery, outcome)
            }
        }
    }

    /// Draws the consequences of an attempt.
    private func ended(_ delivery: Delivery, _ outcome: SendOutcome) {
        sends.removeValue(forKey: delivery.id)
        let key = delivery.endpoint
        if outcome.isSuccess {
            tally.update { $0.delivered += 1 }
            states[key]?.backlog.remove(delivery.id, at: clock.uptime)
            pendingWrites.finish(delivery.id)
            noteSuccess(of: key)
        } else if phase != .stopped {
            tally.update { $0.failedAttempts += 1 }
            noteFailure(of: key, outcome)
            fail(delivery, outcome)
        }
        turn()
    }

    private func fail(_ delivery: Delivery, _ outcome: SendOutcome) {
        let (key, now) = (delivery.endpoint, clock.uptime)
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
        die(delivery, cause, outcome.complaint)
    }

    /// Gives a webhook up; it is in no backlog any more.
    func die(_ delivery: Delivery, _ cause: DeadLetter.Cause, _ detail: String) {
        pendingWrites.bury(DeadLetter(delivery, cause: cause, detail: detail, at: clock.unixTime))
        tally.update { $0.dead += 1 }
        guard let count = deathNotice.count(at: clock.uptime) else { return }
        log.error(
            "webhooks were given up, see `fanfare webhooks`",
            metadata: [
                "app": "\(delivery.endpoint.app)", "url": "\(delivery.endpoint.url)",
                "count": "\(count)", "last": "\(detail)",
            ]
        )
    }

    private func noteFailure(of key: EndpointKey, _ outcome: SendOutcome) {
        guard states[key]?.isFailing == false else { return }
        states[key]?.isFailing = true
        log.warning(
            "a webhook's endpoint fails; it is tried again",
            metadata: [
                "app": "\(key.app)", "url": "\(key.url)", "reason": "\(outcome.complaint)",
            ]
        )
    }

    private func noteSuccess(of key: EndpointKey) {
        guard states[key]?.isFailing == true else { return }
        states[key]?.isFailing = false
        log.info(
            "a webhook's endpoint works again",
            metadata: ["app": "\(key.app)", "url": "\(key.url)"]
        )
    }

    func noteDrop(of count: Int) {
        tally.update { $0.dropped += count }
        settings.met(.webhooksQueued, count)
        guard let count = dropNotice.count(count, at: clock.uptime) else { return }
        log.error(
            "reports for webhooks came faster than they could be looked at; the oldest were dropped",
            metadata: ["count": "\(count)"]
        )
    }
}
