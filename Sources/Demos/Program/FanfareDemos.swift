import ArgumentParser
import DemoSite
import FanfareAPI
import Foundation
import GRDB
import Net

@main
struct FanfareDemos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare-demos",
        abstract: "Small apps that are live on every screen: their backends and web pages.",
        discussion: """
            What they show is in SQLite; every change is told to a Fanfare broker, and by it to every \
            page and app that shows it. The page at / leads to all of them.

            Examples:
              fanfare-demos
              fanfare-demos --port 8080 --database demos.sqlite --broker https://broker.example
              fanfare-demos --database demos.sqlite --migrate-down
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes any that is free.")
    var port: UInt16 = 4000

    @Option(help: "The database file. Without one everything is kept in memory.")
    var database: String?

    @Option(help: "The URL at which the demos' backends find the broker.")
    var broker = "http://127.0.0.1:6001"

    @Option(help: "The URL at which browsers find the broker, when it is another one.")
    var publicBroker: String?

    @Option(help: "The app's ID, key and secret.")
    var app = AppCredentials.development

    @Option(
        name: .customLong("pusher-js"),
        help: "The URL of pusher-js, for pages that are opened with ?client=pusher-js."
    )
    var pusherJS = PublicBroker.pusherJS

    @Flag(help: "Take back the newest migration of the database, and end.")
    var migrateDown = false

    func run() async throws {
        if migrateDown { return try takeBackMigration() }
        let stopSignal = StopSignal()
        let site = try await start()
        Self.report("fanfare-demos: ready http://\(site.address)/")
        await stopSignal.arrives()
        await site.stop()
    }

    private func start() async throws -> DemoSite {
        guard let address = SocketAddress(ip: host, port: port) else {
            throw ValidationError("--host must be an IP address, such as 127.0.0.1 or ::1.")
        }
        do {
            return try await DemoSite(
                Demo.all,
                DemoSite.Configuration(
                    address: address,
                    databasePath: database,
                    app: SignedApp(key: app.key, secret: app.secret),
                    broker: try publicDescription()
                ),
                trigger: try FanfareAPI(
                    appID: app.id,
                    key: app.key,
                    secret: app.secret,
                    url: broker
                ),
                report: { Self.report("fanfare-demos: \($0)") }
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
            tls: tls,
            pusherJS: pusherJS
        )
    }

    private func takeBackMigration() throws {
        guard let database else { throw ValidationError("--migrate-down needs a --database.") }
        guard FileManager.default.fileExists(atPath: database) else {
            throw ValidationError("There is no database at \(database).")
        }
        let migration = try Demo.all.migrations.migrateDown(
            DatabaseQueue(path: database)
        )
        Self.report(migration.map { "Took back \($0)." } ?? "There was nothing to take back.")
    }

    /// Prints a line at once, also when the output is a pipe.
    private static func report(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
