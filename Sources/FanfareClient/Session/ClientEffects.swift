import Logging
import PusherProtocol
import Primitives

/// Performs the effects of a client's session: connection, timers, requests and callbacks.
extension Fanfare {
    /// Passes an input from a connection to the session, unless the client has closed that connection.
    func receive(
        from number: Int,
        _ input: (inout ClientSession, Duration) -> [SessionEffect]
    ) {
        act(if: { $0.connectionNumber == number }) { input(&$0, self.options.clock.now()) }
    }

    /// Passes an input to the session and performs its effects.
    ///
    /// All of this runs under the lock, which keeps the effects in order. No effect blocks or calls back into the
    /// client.
    ///
    /// - Parameters:
    ///   - isWanted: Returns whether the input still applies; may change the client's own state.
    ///   - input: The input.
    func act(
        if isWanted: (inout ClientState) -> Bool = { _ in true },
        _ input: (inout ClientSession) -> [SessionEffect]
    ) {
        let log = state.withLock { state in
            guard isWanted(&state) else { return [] as [(Logger.Level, String)] }
            let old = state.session.status
            var previous = old
            for effect in input(&state.session) { perform(effect, &previous, &state) }
            state.handling = nil
            startRequests(&state)
            return exchange(&state.log, with: [])
        }
        for (level, line) in log { options.logger.log(level: level, "\(line)") }
    }

    func perform(
        _ effect: SessionEffect,
        _ previous: inout ConnectionStatus,
        _ state: inout ClientState
    ) {
        switch effect {
        case .open: open(&state)
        case .close(let code, let reason):
            state.connectionNumber += 1
            state.connection?.close(code: code, reason: reason)
            state.connection = nil
        case .send(let message):
            var text: [UInt8] = []
            message.append(to: &text)
            state.connection?.send(text)
        case .startTimer(let time): startTimer(time, &state)
        case .stopTimer:
            state.timerNumber += 1
            state.timer?.cancel()
            state.timer = nil
        case .status(let status):
            let change = StatusChange(old: exchange(&previous, with: status), new: status)
            report(change, &state)
        case .startAlarm(let alarm, let time): startAlarm(alarm, time, &state)
        case .stopAlarm(let alarm): state.alarms.removeValue(forKey: alarm)?.task.cancel()
        case .authorize(let ticket, let channel, let socketID):
            state.requests.add(ticket, channel: channel, socketID: socketID)
        case .requestKey(let ticket, let channel, let socketID):
            state.requests.add(ticket, channel: channel, socketID: socketID, isForKey: true)
        case .authenticate(let ticket, let socketID):
            state.requests.add(ticket, channel: nil, socketID: socketID)
        case .cancel(let tickets): state.requests.cancel(tickets)
        case .deliver(let event, let position):
            let handling = handle(position, of: event.channel, &state)
            let listeners = state.events
            let isKnown = event.channel.map { state.leases.ownIncludes(position, of: $0) } ?? false
            send(&state, holdingBack: position == nil ? nil : event.channel) {
                listeners.send(event, handling, isKnownToCallbacks: isKnown, posted: $0)
            }
        case .deliverToUser(let event, let position):
            let handling = handle(position, of: event.channel, &state)
            let listeners = state.events
            send(&state, holdingBack: position == nil ? nil : event.channel) {
                listeners.sendToUser(event, handling, posted: $0)
            }
        case .pass(let channel, let position): _ = handle(position, of: channel, &state)
        case .continuity(let channel, let continuity, let position):
            state.log.append((.debug, "\(channel): \(continuity)"))
            // No message has moved a resumed position: the app may still be handling earlier messages.
            let moved = continuity.isResumed ? nil : position
            let handling = handle(moved, of: channel, &state)
            send(continuity, of: channel, retaining: handling, &state)
            state.events.send(continuity, at: position, toFollowersOf: channel, handling)
        case .forget(let channel): state.handled[channel] = nil
        case .presence(let channel, let change):
            state.rosters[channel].send(change.roster)
            let listeners = state.presence[channel]
            send(&state) { listeners.send(change, bytes: change.byteCount, posted: $0) }
        case .gap(let channel, let gap):
            // Whatever a lease has of the stream, the events that follow are those after the gap.
            state.events.clearStarts(of: channel)
            state.leases.clearOwnStart(of: channel)
            state.events.send(.gap(gap), toSequencesOf: channel, state.handling?.handling)
        case .leaseGap(let channel, LeaseStart.own, let gap, _, _):
            send(.gap(gap), of: channel, retaining: nil, &state)
        case .leaseGap(let channel, let lease, let gap, let isConfirmed, let position):
            state.events.send(gap, toLease: lease, of: channel)
            guard !isConfirmed else { break }
            state.events.send(gap, at: position, toFollowersOf: lease, of: channel)
        case .checkReaders(let channel):
            guard state.slowReaders.endStuck(of: channel) else {
                return startAlarm(.slowReaders(channel), SlowReaders.stuckAfter, &state)
            }
            for effect in state.session.endHold(of: channel) { perform(effect, &previous, &state) }
        case .recovered(let channel, let count):
            state.events.send(.recovered(count: count), toSequencesOf: channel)
        case .watchlist(let change):
            let listeners = state.watchlists
            send(&state) { listeners.send(change, bytes: change.byteCount, posted: $0) }
        case .signedIn(let user):
            state.log.append((.debug, "signed in as \(user.id)"))
            state.signInWaiters.send(user)
            state.signInWaiters = EventBuffers()
            state.signIns.send(user)
        case .settled(let key, let outcome):
            outboxWriter?.remove(key)
            state.pendingEvents.removeValue(forKey: key)?.settle(outcome)
        case .signInFailed(let error):
            state.signInWaiters.finish(throwing: error)
            state.log.append((.warning, error.description))
            state.errors.send(error)
        case .report(let error):
            state.log.append((.warning, error.description))
            state.errors.send(error)
        case .subscribed(let channel):
            state.log.append((.debug, "subscribed to \(channel)"))
            state.waiters.removeValue(forKey: channel)?.send(())
        case .postponed(let channel, let error):
            state.waiters[channel]?.finish(throwing: error)
            state.waiters[channel] = nil
            state.log.append((.warning, error.description))
            state.errors.send(error)
        case .refused(let channel, let error):
            state.waiters[channel]?.finish(throwing: error)
            state.waiters[channel] = nil
            if error.code == .unsubscribed {
                state.events.finish(channel: channel)
                state.rosters[channel].finish()
                forgetPosition(of: channel, &state)
            } else {
                state.events.finish(channel: channel, throwing: error)
                state.rosters[channel].finish(throwing: error)
                state.log.append((.warning, error.description))
                state.errors.send(error)
            }
        }
    }

    func open(_ state: inout ClientState) {
        state.connectionNumber += 1
        var url = ConnectionURL(key: key, client: "fanfare-swift")
        url.wantsReceipts = true
        let request = TransportRequest(
            endpoint: endpoint,
            target: url.target(pathPrefix: endpoint.pathPrefix),
            subprotocols: [],
            trust: options.network.trust,
            proxy: options.network.proxy,
            messageLengthMax: options.limits.messageLengthMax,
            timeout: options.network.connectTimeout
        )
        let pending = state.queues.pending
        let receiver = ConnectionReceiver(self, number: state.connectionNumber, pending)
        state.connection = options.network.transport.opener.open(request, receiver: receiver)
    }

    func report(_ change: StatusChange, _ state: inout ClientState) {
        state.log.append((.debug, "\(endpoint): \(change.new)"))
        state.statuses.send(change)
        state.statusSequences.send(change.new)
        switch change.new {
        case .disconnected:
            ignoreNetwork(&state)
            endWaiting(.disconnected, &state)
        case .failed(let error):
            ignoreNetwork(&state)
            state.log.append((.error, error.description))
            state.events.finish(throwing: error)
            for channel in Array(state.rosters.keys) {
                state.rosters[channel].finish(throwing: error)
            }
            endWaiting(error, &state)
        case .waiting:
            // Closed by either side.
            state.connection = nil
        case .suspended:
            ignoreNetwork(&state)
            state.connection = nil
        case .connecting: followNetwork(&state)
        case .connected:
            // Not before: without the broker's first message the attempt would time out.
            if !state.overloaded.isEmpty { state.connection?.pauseReading() }
        }
    }

    /// Checks the connection after each change of the network, until ``ignoreNetwork(_:)``.
    func followNetwork(_ state: inout ClientState) {
        guard options.network.checksConnectionOnChange, state.network == nil else { return }
        state.network = options.network.monitor.observe { [weak self] in
            self?.checkConnection()
        }
    }

    /// Stops the checks of ``followNetwork(_:)``.
    func ignoreNetwork(_ state: inout ClientState) { state.network = nil }

    /// Ends the tasks that wait for the sign-in or for a subscription.
    private func endWaiting(_ error: FanfareError, _ state: inout ClientState) {
        state.connection = nil
        state.signInWaiters.finish(throwing: error)
        for channel in state.waiters.keys { state.waiters[channel]?.finish(throwing: error) }
        state.waiters = [:]
    }

    /// Reports to the callbacks of a channel what a subscription means for the time before it.
    private func send(
        _ continuity: Continuity,
        of channel: String,
        retaining handling: Handling?,
        _ state: inout ClientState
    ) {
        let callbacks = state.continuities[channel]
        send(&state) { callbacks.send(continuity, retaining: handling, posted: $0) }
    }
}

/// Back-pressure: a client stops reading while too many callbacks wait, and holds back the channels of slow sequences.
extension Fanfare {
    /// Sends a value to readers.
    ///
    /// If too much waits for a callback's actor, reading from the connection is paused. If too much waits for the
    /// reader of a sequence, its channel is held back, or the reader receives a gap.
    ///
    /// - Parameters:
    ///   - state: The client's state.
    ///   - channel: The channel to hold back; `nil` if the broker would not send the value again.
    ///   - send: Sends the value, and reports the load of each reader.
    func send(
        _ state: inout ClientState,
        holdingBack channel: String? = nil,
        _ send: (_ posted: (any EventReader, Load) -> Void) -> Void
    ) {
        var behind: [(any EventReader, Load)] = []
        send { reader, load in if isTooMuch(load) { behind.append((reader, load)) } }
        for (reader, load) in behind {
            switch (reader as? any SequenceReader, channel) {
            case (let reader?, let channel?): holdBack(channel, for: reader, load, &state)
            case (let reader?, nil): reader.dropUnread()
            case (nil, _): pauseReading(for: reader, load, &state)
            }
        }
    }

    private func isTooMuch(_ load: Load) -> Bool {
        load.count > options.limits.pendingCallbackCountMax
            || load.bytes > options.limits.pendingCallbackBytesMax
    }

    private func pauseReading(for reader: any EventReader, _ load: Load, _ state: inout ClientState)
    {
        guard state.overloaded.insert(reader.id).inserted, state.overloaded.count == 1 else {
            return
        }
        let line = "\(load.count) events wait for \(reader.name): reading is paused"
        state.log.append((.warning, line))
        state.session.setReading(false, at: options.clock.now())
        state.connection?.pauseReading()
    }

    private func holdBack(
        _ channel: String,
        for reader: any SequenceReader,
        _ load: Load,
        _ state: inout ClientState
    ) {
        state.session.subscriptions[of: channel]?.holdBack()
        guard state.slowReaders.add(reader, load, of: channel) else { return }
        let line = "\(load.count) events wait for \(reader.name): \(channel) is held back"
        state.log.append((.warning, line))
        startAlarm(.slowReaders(channel), SlowReaders.stuckAfter, &state)
    }

    /// Resumes what has waited for a reader, once it is below half of the limits.
    func drained(_ reader: ObjectIdentifier, _ load: Load) {
        guard load.count <= options.limits.pendingCallbackCountMax / 2,
            load.bytes <= options.limits.pendingCallbackBytesMax / 2
        else { return }
        let channel = state.withLock { state in
            if state.overloaded.remove(reader) != nil, state.overloaded.isEmpty {
                state.session.setReading(true, at: options.clock.now())
                state.connection?.resumeReading()
            }
            return state.slowReaders.remove(reader)
        }
        guard let channel else { return }
        act(if: { !$0.slowReaders.holdBack(channel) }) { $0.endHold(of: channel) }
    }
}

/// Forwards the events of one connection to its client.
final class ConnectionReceiver: TransportReceiver, PendingCallbacksReporting {
    let pendingCallbacks: PendingCallbacks
    private let client: Fanfare
    /// The number of the client's connection, from one.
    private let number: Int

    init(_ client: Fanfare, number: Int, _ pendingCallbacks: PendingCallbacks) {
        self.pendingCallbacks = pendingCallbacks
        self.client = client
        self.number = number
    }

    func transportOpened() {}

    func transportReceived(_ text: Span<UInt8>) {
        do throws(MessageError) {
            let message = try ServerMessage.parse(text)
            client.receive(from: number) { $0.receive(message, at: $1) }
        } catch {
            let fault = "a message of the broker cannot be parsed: \(error)"
            client.receive(from: number) { $0.receiveInvalid(fault, at: $1) }
        }
    }

    func transportHeard() {
        client.receive(from: number) { session, now in
            session.received(at: now)
            return []
        }
    }

    func transportClosed(_ closure: TransportClosure) {
        client.receive(from: number) { $0.closed(closure, at: $1) }
    }
}
