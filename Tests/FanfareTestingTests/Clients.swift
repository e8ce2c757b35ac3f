import FanfareTesting
import Synchronization

@testable import FanfareClient

/// The events that a client has received, on the main actor.
@MainActor final class ReceivedEvents {
    private(set) var all: [ChannelEvent] = []
    var names: [String] { all.map(\.name) }
    func add(_ event: ChannelEvent) { all.append(event) }
}

/// A client that sends raw texts, and records every message as text.
final class RawClient: TransportReceiver {
    private struct State {
        var connection: (any TransportConnection)?
        var received: [String] = []
        var closure: TransportClosure?
    }

    private let broker: ScriptedBroker
    private let answer: @Sendable (RawClient, String) -> Void
    private let state = Mutex(State())

    var received: [String] { state.withLock { $0.received } }
    var closure: TransportClosure? { state.withLock { $0.closure } }

    init(
        _ broker: ScriptedBroker,
        answer: @escaping @Sendable (RawClient, String) -> Void = { _, _ in }
    ) {
        self.broker = broker
        self.answer = answer
        let options = broker.clientOptions()
        let request = TransportRequest(
            endpoint: broker.endpoint,
            target: "/app/\(broker.settings.key)?protocol=7",
            subprotocols: [],
            trust: options.network.trust,
            messageLengthMax: options.limits.messageLengthMax,
            timeout: options.network.connectTimeout
        )
        // Under the lock, so that the first message finds the connection.
        state.withLock {
            $0.connection = options.network.transport.opener.open(request, receiver: self)
        }
    }

    func send(_ text: String) { state.withLock { $0.connection }?.send(Array(text.utf8)) }

    func close(code: UInt16 = 1000) {
        state.withLock { $0.connection }?.close(code: code, reason: "")
    }

    func subscribe(_ channel: String, auth: String? = nil, as member: String? = nil) async {
        var members = [#""channel":"\#(channel)""#]
        if let auth { members.append(#""auth":"\#(auth)""#) }
        if let member { members.append(#""channel_data":\#(quoted(member))"#) }
        send(#"{"event":"pusher:subscribe","data":{\#(members.joined(separator: ","))}}"#)
        try? await broker.settle()
    }

    func signIn(_ user: String) async {
        send(
            #"{"event":"pusher:signin","data":{"auth":"","user_data":\#(quoted(user))}}"#
        )
        try? await broker.settle()
    }

    private func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    func pauseReading() { state.withLock { $0.connection }?.pauseReading() }
    func resumeReading() { state.withLock { $0.connection }?.resumeReading() }

    func transportOpened() {}
    func transportHeard() {}
    func transportReceived(_ text: Span<UInt8>) {
        let text = String(decoding: text.withUnsafeBufferPointer(Array.init), as: UTF8.self)
        state.withLock { $0.received.append(text) }
        answer(self, text)
    }
    func transportClosed(_ closure: TransportClosure) { state.withLock { $0.closure = closure } }
}

/// The clients of a test, disconnected at its end: a connected client keeps itself alive.
final class ClientsOfTest: Sendable {
    private let endings = Mutex<[@Sendable () -> Void]>([])

    /// Adds a real client of a broker.
    func add(
        to broker: ScriptedBroker,
        as user: String? = nil,
        _ configure: (inout ClientOptions) -> Void = { _ in }
    ) -> Fanfare {
        let client = broker.client(as: user, configure)
        endings.withLock { $0.append { client.disconnect() } }
        return client
    }

    /// Adds a raw client.
    func addRaw(
        to broker: ScriptedBroker,
        answer: @escaping @Sendable (RawClient, String) -> Void = { _, _ in }
    ) -> RawClient {
        let client = RawClient(broker, answer: answer)
        endings.withLock { $0.append { client.close() } }
        return client
    }

    deinit { for end in endings.withLock({ $0 }) { end() } }
}

extension Fanfare {
    /// Waits for a status.
    func status(where isWanted: @Sendable (ConnectionStatus) -> Bool) async {
        for await status in statuses() where isWanted(status) { return }
    }
}
