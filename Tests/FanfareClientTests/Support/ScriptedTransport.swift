import PusherProtocol
import Synchronization

@testable import FanfareClient

/// A transport without a network, controlled by a test.
final class ScriptedTransport: TransportOpener {
    private let opened = AsyncStream.makeStream(of: ScriptedConnection.self)

    func open(
        _ request: TransportRequest,
        receiver: any TransportReceiver
    ) -> any TransportConnection {
        let connection = ScriptedConnection(request, receiver)
        opened.continuation.yield(connection)
        return connection
    }

    /// Waits for the client's next connection.
    func accept() async -> ScriptedConnection {
        for await connection in opened.stream { return connection }
        preconditionFailure("the transport lives as long as the test")
    }

    /// Waits for the client's next connection and sends the broker's first message.
    func greet() async -> ScriptedConnection {
        let connection = await accept()
        connection.deliver(.connectionEstablished(socketID: SocketID(1, 2), activityTimeout: 120))
        return connection
    }
}

/// One connection of a ``ScriptedTransport``.
final class ScriptedConnection: TransportConnection {
    enum Command: Equatable {
        case send(ClientMessage)
        case close(code: UInt16)
        case pauseReading
        case resumeReading
    }

    let request: TransportRequest
    private let receiver: any TransportReceiver
    private let paused = Atomic(false)
    private let commands = AsyncStream.makeStream(of: Command.self)

    init(_ request: TransportRequest, _ receiver: any TransportReceiver) {
        self.request = request
        self.receiver = receiver
    }

    func send(_ text: [UInt8]) {
        guard let message = try? ClientMessage.parse(text.span) else { return }
        commands.continuation.yield(.send(message))
    }
    func close(code: UInt16, reason: String) { commands.continuation.yield(.close(code: code)) }
    func pauseReading() {
        paused.store(true, ordering: .releasing)
        commands.continuation.yield(.pauseReading)
    }
    func resumeReading() {
        paused.store(false, ordering: .releasing)
        commands.continuation.yield(.resumeReading)
    }

    var isPaused: Bool { paused.load(ordering: .acquiring) }

    /// Waits for the client's next command.
    func next() async -> Command? {
        for await command in commands.stream { return command }
        return nil
    }

    func deliver(_ message: ServerMessage) { deliver(message.bytes) }
    func deliver(_ text: [UInt8]) { receiver.transportReceived(text.span) }
    func end(_ closure: TransportClosure) { receiver.transportClosed(closure) }

    /// Delivers an event on a channel.
    func event(_ name: String, _ channel: String, _ data: String?) {
        deliver(.event(ReceivedEvent(name: name, channel: channel, data: data)))
    }

    /// Delivers the event `e` with a number in the channel's stream, which is also its data.
    func event(_ serial: Int, _ channel: String) {
        let (data, serial) = (String(serial), UInt64(serial))
        deliver(.event(ReceivedEvent(name: "e", channel: channel, data: data, serial: serial)))
    }

    /// Confirms a subscription at a position, with a number of events to be replayed.
    func confirm(_ channel: String, at serial: Int, replay: Int? = nil) {
        let position = #""position":{"stream":"s1","serial":\#(serial)}"#
        let replay = replay.map { #","recovered":true,"replay":\#($0)"# } ?? ""
        deliver(.subscriptionSucceeded(channel: channel, data: "{\(position)\(replay)}"))
    }

    /// Expects a subscription as the next command, and confirms it.
    func confirm(_ channel: String) async -> Bool {
        let command = await next()
        deliver(.subscriptionSucceeded(channel: channel, data: "{}"))
        return command == .send(.subscribe(channel))
    }
}
