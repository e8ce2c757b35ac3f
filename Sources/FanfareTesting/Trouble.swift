import PusherProtocol
import Synchronization

/// What goes wrong, as the test wants it.
extension ScriptedBroker {
    /// What happens to clients that connect from now on.
    public var reception: Reception {
        get { state.withLock { $0.reception } }
        set { act { state, _ in state.reception = newValue } }
    }

    /// Whether nothing arrives any more, at either end, on connections that stay open.
    ///
    /// What is said meanwhile is lost. A client notices by its own clock.
    public var isSilent: Bool {
        get { state.withLock { $0.isSilent } }
        set {
            act { state, now in
                state.isSilent = newValue
                guard !newValue else { return }
                // Whoever has given up meanwhile is found gone.
                for (number, wire) in state.wires where wire.receiver == nil {
                    state.broker.forget(number, code: nil, at: now)
                    state.wires[number] = nil
                }
            }
        }
    }

    /// Has a fault happen to the next messages that fit.
    ///
    /// - Parameters:
    ///   - fault: What happens to them.
    ///   - direction: Which way they go.
    ///   - times: How many of them it happens to.
    ///   - matching: Whether a message is one of them; called while the broker works, so that it
    ///     must not ask it anything.
    public func inject(
        _ fault: Fault,
        _ direction: WireMessage.Direction = .toClient,
        times: Int = 1,
        matching: @escaping @Sendable (WireMessage) -> Bool = { _ in true }
    ) {
        act { state, _ in
            state.faults.add(fault, direction, times: times, matching: matching)
        }
    }

    /// Forgets the faults that have not happened yet.
    public func removeFaults() { act { state, _ in state.faults.removeAll() } }

    /// Cuts connections as a network does: without a close frame.
    ///
    /// - Parameter socketID: The connection; `nil` for all.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)``.
    public func cut(_ socketID: String) throws(FanfareTestingError) {
        try act { (state, now) throws(FanfareTestingError) in
            cut(try number(of: socketID, state), &state, at: now)
        }
    }

    /// Cuts all connections as a network does: without a close frame.
    public func cut() {
        act { state, now in
            for number in state.broker.connections { cut(number, &state, at: now) }
        }
    }

    /// Closes a connection with a code of the protocol, of which the client is told.
    ///
    /// - Parameters:
    ///   - socketID: The connection; `nil` for all.
    ///   - code: From 4000 to 4099 the client stays away, to 4199 it comes back after a while, to
    ///     4299 at once.
    ///   - message: A text for people.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)``.
    public func close(
        _ socketID: String? = nil,
        code: Int,
        message: String = "The test closes this connection"
    ) throws(FanfareTestingError) {
        try act { (state, now) throws(FanfareTestingError) in
            let numbers =
                if let socketID { [try number(of: socketID, state)] } else {
                    state.broker.connections
                }
            for number in numbers {
                state.broker.close(number, PusherCode(rawValue: code), message, at: now)
            }
        }
    }

    /// Tells a client a text that is not the broker's own: broken JSON, an unknown event.
    ///
    /// - Parameters:
    ///   - text: The whole message.
    ///   - socketID: The connection.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)``.
    public func say(_ text: String, to socketID: String) throws(FanfareTestingError) {
        try act { (state, _) throws(FanfareTestingError) in
            state.broker.tell(Array(text.utf8), try number(of: socketID, state))
        }
    }

    /// Refuses subscriptions to a channel from now on.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - type: What kind of refusal it is.
    ///   - message: A text for people.
    ///   - status: An HTTP status, or 4100 for a limit.
    public func refuseSubscriptions(
        to channel: String,
        type: String = "AuthError",
        message: String = "The test refuses this subscription",
        status: Int = 401
    ) {
        act { state, _ in state.broker.refusals[channel] = (type, message, status) }
    }

    /// Takes that back: clients may subscribe to the channel.
    public func acceptSubscriptions(to channel: String) {
        act { state, _ in state.broker.refusals[channel] = nil }
    }

    private func number(
        of socketID: String,
        _ state: State
    ) throws(FanfareTestingError) -> Int {
        let numbers = state.broker.connections
        guard let number = numbers.first(where: { Self.text($0) == socketID }) else {
            throw .noConnection(socketID: socketID)
        }
        return number
    }

    static func text(_ connection: Int) -> String { BrokerState.socketID(connection).description }
}
