import HTTPServer
package import Net

/// The running site of the demos: database, routes, pages and events.
package final class DemoSite: Sendable {
    /// The configuration of a site.
    package struct Configuration: Sendable {
        /// The address to listen on; port 0 for any free port.
        package var address: SocketAddress
        /// The database file; `nil` for a database in memory.
        package var databasePath: String?
        /// The app whose channels the demos use.
        package var app: SignedApp
        /// The broker's address for the pages.
        package var broker: PublicBroker

        /// Creates a configuration.
        package init(
            address: SocketAddress,
            databasePath: String?,
            app: SignedApp,
            broker: PublicBroker
        ) {
            self.address = address
            self.databasePath = databasePath
            self.app = app
            self.broker = broker
        }
    }

    private let service: HTTPService
    private let outbox: Outbox

    /// The address of the site, with the actual port.
    package let address: SocketAddress

    /// Opens the database and starts to listen; `report` gets a message for each event that is delayed or refused.
    package init(
        _ demos: [Demo],
        _ configuration: Configuration,
        trigger: any EventTrigger,
        report: @escaping @Sendable (String) -> Void
    ) async throws {
        let database = try demos.migrations.open(configuration.databasePath)
        outbox = try Outbox(database, trigger: trigger, report: report)
        let routes = try await SiteRoutes(
            demos: demos,
            environment: DemoEnvironment(database: database, outbox: outbox),
            app: configuration.app,
            broker: configuration.broker
        )
        service = try HTTPService.start(on: [configuration.address]) { await routes.answer($0) }
        address = service.addresses[0]
    }

    /// Answers the open requests, delivers the queued events, and stops.
    package func stop() async {
        await service.stop()
        await outbox.close()
    }
}
