import ArgumentParser
import FanfareAPI
import Foundation
import Net
import RealtimeTable

@main
struct RealtimeTableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "realtime-table",
        abstract: "A list of users that is the same on every screen: backend and web page.",
        discussion: """
            The list is in SQLite; every change is told to a Fanfare broker, and by it to every page \
            and app that shows the list.

            Examples:
              realtime-table
              realtime-table --port 8080 --database users.sqlite --broker https://broker.example
              realtime-table --database users.sqlite --migrate-down
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes any that is free.")
    var port: UInt16 = 4000

    @Option(help: "The database file. Without one the list is kept in memory.")
    var database: String?

    @Option(help: "The URL at which this backend finds the broker.")
    var broker = "http://127.0.0.1:6001"

    @Option(help: "The URL at which browsers find the broker, when it is another one.")
    var publicBroker: String?

    @Option(help: "The app's ID, key and secret.")
    var app = AppCredentials.development

    @Flag(help: "Take back the newest migration of the database, and end.")
    var migrateDown = false

    func run() async throws {
        if migrateDown { return try takeBackMigration() }
        let stopSignal = StopSignal()
        let backend = try start()
        Self.report("realtime-table: ready http://\(backend.address)/")
        await stopSignal.arrives()
        await backend.stop()
    }

    private func start() throws -> Backend {
        guard let address = SocketAddress(ip: host, port: port) else {
            throw ValidationError("--host must be an IP address, such as 127.0.0.1 or ::1.")
        }
        do {
            return try Backend(
                Backend.Configuration(
                    address: address,
                    databasePath: database,
                    broker: try publicDescription()
                ),
                trigger: try FanfareAPI(
                    appID: app.id,
                    key: app.key,
                    secret: app.secret,
                    url: broker
                ),
                report: { Self.report("realtime-table: \($0)") }
            )
        } catch let error as FanfareAPIError {
            throw ValidationError("\(error)")
        } catch let error as SystemError where error.code == EADDRINUSE {
            throw ValidationError("Port \(port) is in use; choose another one with --port.")
        }
    }

    /// What browsers are told; a broker on this machine is one on the machine that served the page.
    private func publicDescription() throws -> PublicBroker {
        let url = publicBroker ?? broker
        guard let parts = URLComponents(string: url), let host = parts.host,
            let scheme = parts.scheme, ["http", "https", "ws", "wss"].contains(scheme)
        else { throw ValidationError("\(url) is not a URL such as http://127.0.0.1:6001.") }
        let tls = scheme == "https" || scheme == "wss"
        let isLocal = ["127.0.0.1", "localhost", "[::1]", "::1"].contains(host)
        return PublicBroker(
            key: app.key,
            host: isLocal && publicBroker == nil ? nil : host,
            port: parts.port.flatMap(UInt16.init(exactly:)) ?? (tls ? 443 : 80),
            tls: tls
        )
    }

    private func takeBackMigration() throws {
        guard let database else { throw ValidationError("--migrate-down needs a --database.") }
        guard FileManager.default.fileExists(atPath: database) else {
            throw ValidationError("There is no database at \(database).")
        }
        let migration = try UserStore.migrateDown(path: database)
        Self.report(migration.map { "Took back \($0)." } ?? "There was nothing to take back.")
    }

    /// Prints a line at once, also when the output is a pipe.
    private static func report(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
