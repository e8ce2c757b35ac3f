import HTTPServer
package import Net

/// The site of the demos, running: database, routes, pages and events.
package final class DemoSite: Sendable {
    /// What a site needs to know.
    package struct Configuration: Sendable {
        /// Where to listen; port 0 lets the kernel choose one.
        package var address: SocketAddress
        /// The database file; `nil` for one in memory, which ends with the site.
        package var databasePath: String?
        /// The app whose channels the demos use.
        package var app: SignedApp
        /// What pages are told of the broker.
        package var broker: PublicBroker

        /// Takes the values one by one.
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

    /// Where the site listens, with the port that the kernel chose.
    package let address: SocketAddress

    /// Opens the database and begins to listen.
    ///
    /// - Parameters:
    ///   - demos: What the site shows.
    ///   - configuration: What the site needs to know.
    ///   - trigger: What tells the broker of changes.
    ///   - report: Receives a sentence for each event that did not reach the broker.
    /// - Throws: A `DatabaseError` of GRDB, or the `SystemError` of listening.
    package init(
        _ demos: [Demo],
        _ configuration: Configuration,
        trigger: any EventTrigger,
        report: @escaping @Sendable (String) -> Void
    ) async throws {
        let database = try demos.migrations.open(configuration.databasePath)
        outbox = Outbox(trigger: trigger, report: report)
        let routes = try await SiteRoutes(
            demos: demos,
            backstage: Backstage(database: database, outbox: outbox),
            app: configuration.app,
            broker: configuration.broker
        )
        service = try HTTPService.start(on: [configuration.address]) { await routes.answer($0) }
        address = service.addresses[0]
    }

    /// Answers what is under way, tells the broker what is still to be told, and stops.
    package func stop() async {
        await service.stop()
        await outbox.close()
    }
}
