import HTTPServer
public import Net

/// The backend of the Realtime table, running: database, routes, page and events.
public final class Backend: Sendable {
    /// What a backend needs to know.
    public struct Configuration: Sendable {
        /// Where to listen; port 0 lets the kernel choose one.
        public var address: SocketAddress
        /// The database file; `nil` for one in memory, which ends with the backend.
        public var databasePath: String?
        /// What the page is told of the broker.
        public var broker: PublicBroker

        /// Takes the values one by one.
        public init(address: SocketAddress, databasePath: String?, broker: PublicBroker) {
            self.address = address
            self.databasePath = databasePath
            self.broker = broker
        }
    }

    private let service: HTTPService
    private let outbox: Outbox

    /// Where the backend listens, with the port that the kernel chose.
    public let address: SocketAddress

    /// Opens the database and begins to listen.
    ///
    /// - Parameters:
    ///   - configuration: What the backend needs to know.
    ///   - trigger: What tells the broker of changes.
    ///   - report: Receives a sentence for each event that did not reach the broker.
    /// - Throws: A `DatabaseError` of GRDB, or the `SystemError` of listening.
    public init(
        _ configuration: Configuration,
        trigger: any EventTrigger,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        let store = try UserStore(path: configuration.databasePath)
        outbox = Outbox(trigger: trigger, report: report)
        let routes = Routes(
            users: UserList(store: store, outbox: outbox),
            page: try Page(broker: configuration.broker)
        )
        service = try HTTPService.start(on: [configuration.address]) { await routes.answer($0) }
        address = service.addresses[0]
    }

    /// Answers what is under way, tells the broker what is still to be told, and stops.
    public func stop() async {
        await service.stop()
        await outbox.close()
    }
}
