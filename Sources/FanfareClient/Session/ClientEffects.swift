import Logging
import PusherProtocol
import Synchronization

/// Performs the effects of a client's session: connection, timers, requests and callbacks.
extension FanfareClient {
    /// Passes an input from a connection to the session, unless the client has closed that connection.
    func receive(
        from number: Int,
        _ input: (inout ClientSession, Duration) -> [SessionEffect]
    ) {
        act(if: { $0.connectionNumber == number }) { input(&$0, self.options.clock.now()) }
    }

    func timerFired(_ number: Int) {
        act(if: { $0.timerNumber == number }) { $0.timerFired(at: self.options.clock.now()) }
    }

    /// Passes an input to the session and performs its effects.
    ///
    /// Everything happens under the lock, which keeps the effects in order. None of them blocks or calls back into the
    /// client.
    func act(
        if isWanted: (ClientState) -> Bool = { _ in true },
        _ input: (inout ClientSession) -> [SessionEffect]
    ) {
        let log = state.withLock { state in
            guard isWanted(state) else { return [] as [(Logger.Level, String)] }
            let old = state.session.status
            var previous = old
            for effect in input(&state.session) { perform(effect, &previous, &state) }
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
        case .authenticate(let ticket, let socketID):
            state.requests.add(ticket, channel: nil, socketID: socketID)
        case .cancel(let tickets): state.requests.cancel(tickets)
        case .deliver(let event):
            recordLoads(posts { state.events.send(event, posted: $0) }, &state)
        case .deliverToUser(let event):
            recordLoads(posts { state.events.sendToUser(event, posted: $0) }, &state)
        case .presence(let channel, let change):
            recordLoads(posts { state.presence[channel].send(change, posted: $0) }, &state)
        case .watchlist(let change):
            state.watchlistSequences.send(change.watchlist) { _, _ in }
            recordLoads(posts { state.watchlists.send(change, posted: $0) }, &state)
        case .signedIn(let user):
            state.log.append((.debug, "signed in as \(user.id)"))
            state.signInWaiters.send(user) { _, _ in }
            state.signInWaiters = Listeners()
            recordLoads(posts { state.signIns.send(user, posted: $0) }, &state)
        case .signInFailed(let error):
            state.signInWaiters.finish(throwing: error)
            state.log.append((.warning, error.description))
            state.errors.send(error) { _, _ in }
        case .report(let error):
            state.log.append((.warning, error.description))
            state.errors.send(error) { _, _ in }
        case .subscribed(let channel):
            state.log.append((.debug, "subscribed to \(channel)"))
            state.waiters.removeValue(forKey: channel)?.send(()) { _, _ in }
        case .refused(let channel, let error):
            state.waiters[channel]?.finish(throwing: error)
            state.waiters[channel] = nil
            if case .unsubscribed = error {
                state.events.finish(channel: channel)
                state.presence[channel].finish()
            } else {
                state.log.append((.warning, error.description))
                state.errors.send(error) { _, _ in }
            }
        }
    }

    func open(_ state: inout ClientState) {
        state.connectionNumber += 1
        let url = ConnectionURL(key: key, client: "fanfare-swift")
        let request = TransportRequest(
            endpoint: endpoint,
            target: url.target(pathPrefix: endpoint.pathPrefix),
            subprotocols: [],
            trust: options.trust,
            proxy: options.proxy,
            messageLengthMax: options.messageLengthMax,
            timeout: options.connectTimeout
        )
        let receiver = ConnectionReceiver(self, number: state.connectionNumber)
        state.connection = options.transport.open(request, receiver: receiver)
        if !state.overloaded.isEmpty { state.connection?.pauseReading() }
    }

    func startTimer(_ time: Duration, _ state: inout ClientState) {
        state.timerNumber += 1
        state.timer?.cancel()
        let number = state.timerNumber
        let clock = options.clock
        let moment = clock.now() + time
        state.timer = Task {
            guard (try? await clock.sleep(moment)) != nil else { return }
            self.timerFired(number)
        }
    }

    func startAlarm(_ alarm: SessionAlarm, _ time: Duration, _ state: inout ClientState) {
        state.alarms[alarm]?.task.cancel()
        let clock = options.clock
        let moment = clock.now() + time
        state.alarmNumber += 1
        let number = state.alarmNumber
        let task = Task {
            guard (try? await clock.sleep(moment)) != nil else { return }
            self.alarmFired(alarm, number)
        }
        state.alarms[alarm] = ClientState.Alarm(number: number, task: task)
    }

    func alarmFired(_ alarm: SessionAlarm, _ number: Int) {
        act(if: { $0.alarms[alarm]?.number == number }) {
            $0.alarmFired(alarm, at: self.options.clock.now())
        }
    }

    /// Sends a value to callbacks, and collects the load of their queues.
    private func posts(
        _ send: (_ posted: (CallbackQueue, CallbackQueue.Load) -> Void) -> Void
    ) -> [(CallbackQueue, CallbackQueue.Load)] {
        var posts: [(CallbackQueue, CallbackQueue.Load)] = []
        send { posts.append(($0, $1)) }
        return posts
    }

    private func recordLoads(
        _ posts: [(CallbackQueue, CallbackQueue.Load)],
        _ state: inout ClientState
    ) {
        for (queue, load) in posts { recordLoad(load, of: queue, &state) }
    }

    func report(_ change: StatusChange, _ state: inout ClientState) {
        state.log.append((.debug, "\(endpoint): \(change.new)"))
        state.statuses.send(change) { _, _ in }
        state.statusSequences.send(change.new) { _, _ in }
        switch change.new {
        case .disconnected: finishSequences(nil, &state)
        case .failed(let error):
            state.log.append((.error, error.description))
            finishSequences(error, &state)
        case .waiting:
            // Closed, by whichever side.
            state.connection = nil
        case .connecting, .connected: break
        }
    }

    /// Ends the sequences and the tasks that wait.
    func finishSequences(_ error: FanfareError?, _ state: inout ClientState) {
        state.connection = nil
        state.events.finish(throwing: error)
        state.presence.finish(throwing: error)
        state.watchlistSequences.finish()
        state.signInWaiters.finish(throwing: error ?? .disconnected)
        for channel in state.waiters.keys {
            state.waiters[channel]?.finish(throwing: error ?? .disconnected)
        }
        state.waiters = [:]
    }
}
