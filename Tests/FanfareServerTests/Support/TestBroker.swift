import Logging
import Net

@testable import FanfareServer

/// A development broker on a free port, for the length of a test.
struct TestBroker {
    let server: BrokerServer
    let port: UInt16

    static func run<R>(
        loops: Int = 1,
        lineLengthMax: Int? = nil,
        witness: (any ChannelWitness)? = nil,
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker) async throws -> R
    ) async throws -> R {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = loops
        change(&configuration)
        var log = Logger(label: "test")
        log.logLevel = .error
        let settings =
            lineLengthMax.map { ServerSettings(configuration, lineLengthMax: $0) }
            ?? ServerSettings(configuration)
        let server = try BrokerServer(
            configuration: configuration,
            log: log,
            settings: settings,
            witness: witness
        )
        let addresses = try await server.start()
        let broker = TestBroker(server: server, port: addresses.plain?.port ?? 0)
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
