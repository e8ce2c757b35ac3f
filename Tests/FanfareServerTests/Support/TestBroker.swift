import Broker
import BrokerConfiguration
import Logging
import Net
import Webhooks

@testable import FanfareServer
@testable import Observability

/// A development broker on a free port, for the duration of a test.
struct TestBroker {
    let server: BrokerServer
    let port: UInt16
    /// The port of the TLS listener; 0 if there is none.
    let tlsPort: UInt16
    /// The port of the console's own listener; 0 if there is none.
    var consolePort: UInt16 = 0

    /// Runs a broker.
    ///
    /// - Parameters:
    ///   - loops: Its shards.
    ///   - lineLengthMax: The maximum number of messages on a link between two shards; `nil` for the default.
    ///   - observer: The observer of the broker; `nil` for its webhooks.
    ///   - absenceDelay: The delay of webhooks of departures; `nil` for the default.
    ///   - log: The broker's log; `nil` for errors alone.
    ///   - change: The changes to the development configuration.
    ///   - body: The test.
    /// - Returns: The result of the test.
    /// - Throws: The error of the test, or of the broker's start.
    static func run<R>(
        loops: Int = 1,
        lineLengthMax: Int? = nil,
        observer: (any BrokerObserver)? = nil,
        absenceDelay: Duration? = nil,
        log: Logger? = nil,
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker) async throws -> R
    ) async throws -> R {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = loops
        if let lineLengthMax { configuration.relayedEventsMax = lineLengthMax }
        let variant = BrokerVariant.current
        variant?.prepare(&configuration)
        change(&configuration)
        var errorLog = Logger(label: "test")
        errorLog.logLevel = .error
        var webhookSettings = WebhookSettings(configuration.webhooks)
        if let absenceDelay { webhookSettings.absenceDelay = absenceDelay }
        let server = try BrokerServer(
            configuration: configuration,
            log: log ?? errorLog,
            observer: observer,
            webhookSettings: webhookSettings
        )
        let addresses = try await server.start()
        let broker = TestBroker(
            server: server,
            port: addresses.plain?.port ?? 0,
            tlsPort: addresses.tls?.port ?? 0,
            consolePort: addresses.console?.port ?? 0
        )
        do {
            let result = try await body(broker)
            await variant?.check(broker)
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

    func trigger(
        _ name: String,
        _ data: String,
        on channel: String,
        except: String? = nil
    ) async throws -> Answer {
        try await Wire.trigger(
            port: port,
            name: name,
            data: data,
            channel: channel,
            except: except
        )
    }
}
