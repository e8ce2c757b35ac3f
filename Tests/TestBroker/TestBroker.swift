import BrokerConfiguration
package import FanfareAPI
import FanfareServer
import Logging
import Net

/// A broker on a free port of the loopback address, with the app of `Configuration.development`.
package struct TestBroker: Sendable {
    private let server: BrokerServer
    /// The port on 127.0.0.1.
    package let port: Int
    /// An API client of its app.
    package let api: BrokerAPI

    private struct NoAddress: Error {}

    /// Starts a broker.
    package static func start() async throws -> TestBroker {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = try BrokerServer(configuration: configuration, log: log)
        guard let port = try await server.start().plain?.port else { throw NoAddress() }
        let api = try BrokerAPI(
            appID: "1",
            key: "app-key",
            secret: "app-secret",
            url: "http://127.0.0.1:\(port)"
        )
        return TestBroker(server: server, port: Int(port), api: api)
    }

    /// Stops the broker, and closes all connections.
    package func stop() async { await server.stop(within: .seconds(1)) }

    /// Waits for a number of subscribers.
    package func waitForSubscribers(_ count: Int, to channel: String = "userslist") async throws {
        while try await api.channel(channel, info: [.subscriptionCount]).subscriptionCount != count
        {
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
