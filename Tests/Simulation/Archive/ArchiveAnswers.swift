import PusherProtocol

/// What devices and backends are told.
extension ArchiveWorld {
    // MARK: - Devices

    func connect(_ tracker: StoredTracker) throws {
        let pipe = try broker.connect(to: number(shardCount))
        tracker.transport = try SimulatedClient(
            pipe,
            key: Scenario.keys[0],
            compresses: false,
            number: tracker.number
        )
        tracker.isSubscribed = false
    }

    func receive(
        _ frame: SimulatedClient.ReceivedFrame,
        _ tracker: StoredTracker
    ) throws(Violation) {
        switch frame {
        case .message(.connectionEstablished):
            var position = "{}"
            if let known = tracker.position {
                position = #"{"stream":"\#(known.stream)","serial":\#(known.serial)}"#
            }
            let data = #"{"channel":"\#(tracker.channel)","position":\#(position)}"#
            tracker.transport?.send(#"{"event":"pusher:subscribe","data":\#(data)}"#, mask: 7)
        case .message(.subscriptionSucceeded(_, let data)): try begin(tracker, data)
        case .message(.event(let event)): try receive(event, tracker)
        case .ping(let payload): tracker.transport?.answer(payload, mask: 7)
        case .close: tracker.cut()
        default: break
        }
    }

    func begin(_ tracker: StoredTracker, _ data: String) throws(Violation) {
        guard let start = SubscriptionStart(acknowledgement: data) else {
            throw Violation(.answers, "device \(tracker.number) got no position: \(data)")
        }
        record("device \(tracker.number) at \(String(describing: tracker.position)): \(data)")
        let known = streams[tracker.channel]
        guard known == nil || known == start.position.stream else {
            throw Violation(
                .durability,
                "\(tracker.channel) goes on under another ID without a loss of power"
            )
        }
        streams[tracker.channel] = start.position.stream
        switch start.continuity {
        case .began: break
        case .recovered(let count):
            guard start.position == tracker.position else {
                throw Violation(.recovery, "device \(tracker.number) goes on elsewhere: \(data)")
            }
            tracker.replayCount = count
        case .gap(let gap):
            guard mayHaveGap.contains(tracker.number) else {
                throw Violation(.honesty, "device \(tracker.number) is told of a gap: \(gap)")
            }
        }
        mayHaveGap.remove(tracker.number)
        tracker.position = start.position
        tracker.isSubscribed = true
    }

    func receive(_ event: ReceivedEvent, _ tracker: StoredTracker) throws(Violation) {
        guard let position = tracker.position, let serial = event.serial,
            serial == position.serial + 1, let id = Int(event.data ?? "")
        else {
            throw Violation(
                .recovery,
                "device \(tracker.number) at \(String(describing: tracker.position)) gets \(event)"
            )
        }
        let place = ChannelPosition(stream: position.stream, serial: serial)
        try model.see(id, at: place)
        tracker.position = place
        tracker.replayCount = max(0, tracker.replayCount - 1)
    }

    // MARK: - Backends

    func receive(_ answer: StoredRequest.Answer, _ event: StoredEvent) throws(Violation) {
        record("event \(event.id) is answered \(answer.status) \(answer.body)")
        switch answer.status {
        case 200:
            (event.isAnswered, event.mayBeLost) = (true, false)
            guard let position = answer.position(on: event.channel) else { return }
            try model.see(event.id, at: position)
            event.position = position
            guard let condition = event.condition, !answer.body.contains("repeated") else { return }
            guard condition.stream == position.stream, condition.serial + 1 == position.serial
            else {
                throw Violation(
                    .answers,
                    "event \(event.id) is at \(position), and was to be behind \(condition)"
                )
            }
        case 412 where event.condition != nil, 503: break
        default: throw Violation(.answers, "event \(event.id): \(answer.status) \(answer.body)")
        }
    }
}
