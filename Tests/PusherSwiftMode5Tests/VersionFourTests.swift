import FanfareTesting
import Foundation
import PusherSwift
import Testing

// The API of version 4.1 that later versions renamed or removed, with its types, compiled in language mode 5.

@available(*, deprecated)
private func optionsOfVersionFour() -> PusherClientOptions {
    let all = PusherClientOptions(
        authMethod: .noMethod,
        attemptToReturnJSONObject: true,
        autoReconnect: true,
        host: .cluster("eu"),
        port: nil,
        encrypted: true
    )
    let isEncrypted: Bool = all.encrypted
    return PusherClientOptions(host: .host("h"), encrypted: !isEncrypted)
}

@available(*, deprecated)
private func isWaiting(_ state: ConnectionState) -> Bool {
    // An alias of `reconnecting`: a separate case would break every `switch` of version 10.
    state == .reconnecting || state == .reconnectingWhenNetworkBecomesReachable
}

@available(*, deprecated)
private func handOut(_ channel: PusherChannel, _ connection: PusherConnection) {
    channel.handleEvent(name: "e", data: "[1]")
    let json: [String: AnyObject] = ["channel": "a" as AnyObject, "data": "[2]" as AnyObject]
    connection.handleEvent(eventName: "e", jsonObject: json)
}

@available(*, deprecated)
private func isThere(_ connection: PusherConnection) -> Bool {
    connection.socketConnected && connection.connectionEstablishedMessageReceived
}

@available(*, deprecated)
private func pretend(_ connection: PusherConnection) {
    connection.socketConnected = true
    connection.connectionEstablishedMessageReceived = true
}

@available(*, deprecated)
private func name(_ event: PusherEvent) -> String { event.name }

/// Builds requests by version 4's method.
private final class Builder: NSObject, AuthRequestBuilderProtocol {
    var asked: [String] = []

    func requestFor(socketID: String, channel: PusherChannel) -> NSMutableURLRequest? {
        asked.append("\(socketID) \(channel.name)")
        guard let url = URL(string: "http://127.0.0.1:1/auth") else { return nil }
        let request = NSMutableURLRequest(url: url)
        request.httpMethod = "POST"
        return request
    }
}

@Suite("PusherSwift: the API of version 4", .timeLimit(.minutes(1))) @MainActor
struct VersionFourTests {
    private func options(_ broker: ScriptedBroker, _ method: AuthMethod) -> PusherClientOptions {
        let options = PusherClientOptions(authMethod: method, host: .host("h"), useTLS: false)
        let own = broker.clientOptions()
        options.configure = { client in
            client.network.transport = own.network.transport
            client.clock = own.clock
            client.authorization.attemptCountMax = own.authorization.attemptCountMax
        }
        return options
    }

    @available(*, deprecated)
    @Test func ofOptionsAndStates() {
        let options = optionsOfVersionFour()
        #expect(options.useTLS == false && options.port == 80 && options.host == "h")
        #expect(isWaiting(.reconnecting) && !isWaiting(.connected))
    }

    @available(*, deprecated)
    @Test func ofEventsThatAnAppHandsOut() {
        let pusher = Pusher(key: "app-key")
        let channel = pusher.subscribe("a")
        var seen: [String] = []
        channel.bind(
            eventName: "e",
            callback: { (data: Any?) -> Void in seen.append("\(data as? [Int] ?? [])") }
        )
        channel.bind(eventName: "e") { event in seen.append(name(event)) }
        handOut(channel, pusher.connection)
        #expect(seen == ["[1]", "e", "[2]", "e"])
        let members: PusherEventJSON? = pusher.connection.getPusherEventJSON(
            from: #"{"event":"e","data":"[1]"}"#
        )
        #expect(members?["event"] as? String == "e")
        #expect(pusher.connection.getPusherEventJSON(from: "[]") == nil)
        let data: Any = pusher.connection.getEventDataJSON(from: "[1]")
        #expect(data as? [Int] == [1])
        #expect(pusher.connection.getEventDataJSON(from: "text") as? String == "text")
    }

    @available(*, deprecated)
    @Test func ofAConnection() async throws {
        let broker = ScriptedBroker()
        let pusher = Pusher(key: "app-key", options: options(broker, .noMethod))
        #expect(!isThere(pusher.connection))
        pretend(pusher.connection)
        #expect(isThere(pusher.connection) && pusher.connection.connectionState == .disconnected)
        pusher.connect()
        try await broker.waitForConnections()
        try await broker.settle()
        #expect(isThere(pusher.connection))
        broker.cut()
        try await broker.settle()
        #expect(!isThere(pusher.connection))
        pusher.disconnect()
    }

    @Test func ofRequestsThatAuthorise() async throws {
        let broker = ScriptedBroker()
        let builder = Builder()
        let pusher = Pusher(
            key: "app-key",
            options: options(broker, .authRequestBuilder(authRequestBuilder: builder))
        )
        pusher.subscribe("private-a")
        pusher.connect()
        try await broker.wait(for: "the request") { !builder.asked.isEmpty }
        #expect(builder.asked.first == "1.1 private-a")
        pusher.disconnect()
    }
}
