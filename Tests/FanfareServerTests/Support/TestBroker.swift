import Broker
import Logging
import Net
import Webhooks

@testable import FanfareServer

/// A development broker on a free port, for the length of a test.
struct TestBroker {
    let server: BrokerServer
    let port: UInt16
    /// Where it listens for TLS; 0 if it does not.
    let tlsPort: UInt16

    /// Runs a broker.
    ///
    /// - Parameters:
    ///   - loops: Its shards.
    ///   - lineLengthMax: The messages that may wait on a line between two shards; `nil` for as many as usual.
    ///   - observer: Who is told what happens on channels; `nil` for its webhooks.
    ///   - absenceDelay: How long webhooks wait for who has left to be back; `nil` for as long as usual.
    ///   - change: What its configuration has instead of the development broker's.
    ///   - body: The test.
    /// - Returns: What the test returns.
    /// - Throws: What the test throws, or what keeps the broker from starting.
    static func run<R>(
        loops: Int = 1,
        lineLengthMax: Int? = nil,
        observer: (any BrokerObserver)? = nil,
        absenceDelay: Duration? = nil,
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker) async throws -> R
    ) async throws -> R {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = loops
        if let lineLengthMax { configuration.relayedEventsMax = lineLengthMax }
        change(&configuration)
        var log = Logger(label: "test")
        log.logLevel = .error
        var webhookSettings = WebhookSettings(configuration.webhooks)
        if let absenceDelay { webhookSettings.absenceDelay = absenceDelay }
        let server = try BrokerServer(
            configuration: configuration,
            log: log,
            observer: observer,
            webhookSettings: webhookSettings
        )
        let addresses = try await server.start()
        let broker = TestBroker(
            server: server,
            port: addresses.plain?.port ?? 0,
            tlsPort: addresses.tls?.port ?? 0
        )
        do {
            let result = try await body(broker)
            await server.stop(within: .seconds(1))
            return result
        } catch {
            await server.stop(within: .seconds(1))
            throw error
        }
    }

    func connect() async throws -> WebSocketWire { try await WebSocketWire(port: port) }

    /// Connects, and reads the greeting.
    func connected() async throws -> (WebSocketWire, socketID: String) {
        let client = try await connect()
        return (client, try await client.socketID())
    }

    func trigger(_ name: String, _ data: String, on channel: String) async throws -> Answer {
        try await Wire.trigger(port: port, name: name, data: data, channel: channel)
    }
}
