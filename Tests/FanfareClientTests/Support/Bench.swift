import FanfareTesting
import Testing

@testable import FanfareClient

/// A client with a scripted transport and a manual clock.
struct Bench {
    let transport = ScriptedTransport()
    let clock = ManualClock()
    let client: Fanfare
    private let ending: Ending

    /// Disconnects when it is deallocated: a connected client retains itself.
    private final class Ending: Sendable {
        private let client: Fanfare
        init(of client: Fanfare) { self.client = client }
        deinit { client.disconnect() }
    }

    init(_ change: (inout ClientOptions) -> Void = { _ in }) {
        var options = ClientOptions()
        options.network.transport = ClientTransport(transport)
        options.clock = ClientClock(clock)
        change(&options)
        client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "broker.test", port: 6001, pathPrefix: "/live"),
            options: options
        )
        ending = Ending(of: client)
    }

    /// Connects, with a confirmed subscription.
    func subscribe(to channel: String) async -> ScriptedConnection {
        client.subscribe(channel)
        client.connect()
        let connection = await transport.greet()
        #expect(await connection.confirm(channel))
        return connection
    }

    /// Connects, with a subscription that is confirmed at a position.
    func subscribe(to channel: String, at serial: Int) async -> ScriptedConnection {
        client.subscribe(channel)
        client.connect()
        let connection = await transport.greet()
        _ = await connection.next()
        connection.confirm(channel, at: serial)
        return connection
    }
}
