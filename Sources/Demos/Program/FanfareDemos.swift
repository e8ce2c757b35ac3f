import ArgumentParser
import CollaborativeText
import Contacts
import DemoSite
import FanfareAPI
import Films
import Foundation
import GRDB
import Net
import RealtimeTable
import Room
import ToDo

@main
struct FanfareDemos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare-demos",
        abstract: "Runs the backends and web pages of the demo apps.",
        discussion: """
            The data is in SQLite; every change is published by a Fanfare broker to all open \
            pages and apps. The page at / lists the demos.

            Examples:
              fanfare-demos
              fanfare-demos --port 8080 --database demos.sqlite --broker https://broker.example
              fanfare-demos --database demos.sqlite --migrate-down
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free port.")
    var port: UInt16 = 4000

    @Option(help: "The database file; in memory if omitted.")
    var database: String?

    @Option(help: "The broker's URL for the demos' backends.")
    var broker = "http://127.0.0.1:6001"

    @Option(help: "The broker's URL for browsers, if different.")
    var publicBroker: String?

    @Option(help: "The app's ID, key and secret.")
    var app = AppCredentials.development

    @Option(
        name: .customLong("pusher-js"),
        help: "The URL of pusher-js, for pages opened with ?client=pusher-js."
    )
    var pusherJS = PublicBroker.pusherJS

    @Flag(help: "Revert the newest migration of the database and exit.")
    var migrateDown = false

    /// The demos of the site.
    ///
    /// Migrations run in this order, so append new demos.
    private static let demos = [
        RealtimeTable.demo, Films.demo, CollaborativeText.demo, Contacts.demo, ToDoApp.demo,
        Room.demo,
    ]

    func validate() throws {
        if app == .malformed {
            throw ValidationError(
                "--app must be ID:KEY:SECRET, none of them empty; the value is not shown."
            )
        }
    }

    func run() async throws {
        if migrateDown { return try revertMigration() }
        let stopSignal = StopSignal()
        let site = try await start()
        Self.report("fanfare-demos: ready http://\(site.address)/")
        await stopSignal.wait()
        await site.stop()
    }

    private func start() async throws -> DemoSite {
        guard let address = SocketAddress(ip: host, port: port) else {
            throw ValidationError("--host must be an IP address, such as 127.0.0.1 or ::1.")
        }
        do {
            return try await DemoSite(
                Self.demos,
                DemoSite.Configuration(
                    address: address,
                    databasePath: database,
                    app: SignedApp(key: app.key, secret: app.secret),
                    broker: try publicDescription()
                ),
                trigger: try BrokerAPI(
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

    /// Returns the broker's address for pages; a local broker is on the host that serves the page.
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

    private func revertMigration() throws {
        guard let database else { throw ValidationError("--migrate-down needs a --database.") }
        guard FileManager.default.fileExists(atPath: database) else {
            throw ValidationError("There is no database at \(database).")
        }
        let migration = try Self.demos.migrations.migrateDown(
            DatabaseQueue(path: database)
        )
        Self.report(migration.map { "Reverted \($0)." } ?? "There is no migration to revert.")
    }

    /// Prints a line unbuffered, also to a pipe.
    private static func report(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}

/// An app's ID, key and secret, in the form `ID:KEY:SECRET` of the broker's own flag.
struct AppCredentials: ExpressibleByArgument, CustomStringConvertible, Equatable {
    let id: String
    let key: String
    let secret: String

    /// The broker's default app.
    static let development = AppCredentials(id: "1", key: "app-key", secret: "app-secret")
    /// The value for an argument that is not `ID:KEY:SECRET`.
    static let malformed = AppCredentials(id: "", key: "", secret: "")

    init(id: String, key: String, secret: String) {
        self.id = id
        self.key = key
        self.secret = secret
    }

    /// Parses an argument; the command refuses a malformed one, because the argument parser would print the secret.
    init(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            .map(String.init)
        let isComplete = parts.count == 3 && !parts.contains("")
        self = isComplete ? Self(id: parts[0], key: parts[1], secret: parts[2]) : .malformed
    }

    /// The credentials for the help text, without the secret.
    var description: String { "\(id):\(key):…" }
}
