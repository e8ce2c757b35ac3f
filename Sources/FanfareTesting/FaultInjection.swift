import Broker
import PusherProtocol
import Primitives

/// Injected faults.
extension ScriptedBroker {
    /// The response to later connection attempts.
    public var reception: Reception {
        get { state.withLock { $0.reception } }
        set { act { state, _ in state.reception = newValue } }
    }

    /// Whether messages in both directions are lost while connections stay open.
    ///
    /// A client detects this by its own clock.
    public var isSilent: Bool {
        get { state.withLock { $0.isSilent } }
        set {
            act { state, now in
                state.isSilent = newValue
                guard !newValue else { return }
                // Removes the connections that their clients have closed meanwhile.
                for (number, wire) in state.wires where wire.receiver == nil {
                    state.broker.removeConnection(number, code: nil, at: now)
                    state.wires[number] = nil
                }
            }
        }
    }

    /// Applies a fault to the next matching messages.
    ///
    /// - Parameters:
    ///   - fault: The fault.
    ///   - direction: The direction of the messages.
    ///   - times: The number of messages.
    ///   - matching: Returns whether the fault applies to a message. It must not call the broker, which is locked
    ///     meanwhile.
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

    /// Removes the remaining faults.
    public func removeFaults() { act { state, _ in state.faults.removeAll() } }

    /// Ends a connection as a network failure does: without a close frame.
    ///
    /// - Parameter socketID: The connection's socket ID.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)``.
    public func cut(_ socketID: String) throws(FanfareTestingError) {
        try act { (state, now) throws(FanfareTestingError) in
            cut(try number(of: socketID, state), &state, at: now)
        }
    }

    /// Ends all connections as a network failure does: without a close frame.
    public func cut() {
        act { state, now in
            for number in state.broker.connections { cut(number, &state, at: now) }
        }
    }

    /// Closes connections with a code of the protocol.
    ///
    /// - Parameters:
    ///   - socketID: The connection's socket ID; `nil` for all connections.
    ///   - code: The close code. The client does not reconnect after 4000 to 4099, reconnects after a delay after 4100
    ///     to 4199, and at once after 4200 to 4299.
    ///   - message: The message of the error.
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

    /// Restarts the broker: it closes all connections with 4200, and clients reconnect.
    ///
    /// - Parameter keepingHistory: Whether kept messages and positions, cached events and keys survive the restart. If
    ///   not, clients that reconnect are notified of a gap.
    public func restart(keepingHistory: Bool = false) {
        act { state, now in state.broker.restart(keepingHistory: keepingHistory, at: now) }
    }

    /// Removes all kept messages, as if they were too old; a client that has missed any is notified of a gap.
    public func forgetHistory() { act { state, _ in state.broker.homeState.dropMessages() } }

    /// Sends a raw message to a client, such as invalid JSON or an unknown event.
    ///
    /// - Parameters:
    ///   - text: The whole message.
    ///   - socketID: The connection's socket ID.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)``.
    public func send(_ text: String, to socketID: String) throws(FanfareTestingError) {
        try act { (state, _) throws(FanfareTestingError) in
            state.broker.send(Array(text.utf8), try number(of: socketID, state))
        }
    }

    /// Refuses subscriptions to a channel from now on.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - type: The type of the error.
    ///   - message: The message of the error.
    ///   - status: An HTTP status, or 4100 for a limit.
    public func refuseSubscriptions(
        to channel: String,
        type: String = "AuthError",
        message: String = "The test refuses this subscription",
        status: Int = 401
    ) {
        act { state, _ in state.broker.refusals[channel] = (type, message, status) }
    }

    /// Accepts subscriptions to a channel again.
    public func acceptSubscriptions(to channel: String) {
        act { state, _ in state.broker.refusals[channel] = nil }
    }

    private func number(
        of socketID: String,
        _ state: borrowing State
    ) throws(FanfareTestingError) -> Int {
        let numbers = state.broker.connections
        guard let number = numbers.first(where: { Self.text($0) == socketID }) else {
            throw .noConnection(socketID: socketID)
        }
        return number
    }

    static func text(_ connection: Int) -> String { BrokerState.socketID(connection).description }
}
