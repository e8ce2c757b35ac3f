import ArgumentParser
import FanfareClient
import Foundation

/// The demos in a terminal, with the Swift SDK.
@main struct DemoTerminal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-terminal",
        abstract: "Shows and edits the demos in a terminal, live.",
        discussion: """
            Start the broker and the demos with "make run" first, and open a page beside the terminal.

            Examples:
              demo-terminal table                        shows the Realtime table
              demo-terminal table --do "move 3 1"        edits the list and exits
              demo-terminal text                         shows the shared text
              demo-terminal to-do                        shows the to-dos, from a local database
            """,
        subcommands: [TableTerminal.self, TextTerminal.self, ToDoTerminal.self]
    )
}

/// The options for the addresses of backend and broker.
struct DemoAddresses: ParsableArguments {
    @Option(help: "The URL of the demos.")
    var backend = "http://127.0.0.1:4000"

    @Option(help: "The URL of the broker.")
    var broker = "ws://127.0.0.1:6001"

    @Option(help: "The app's key.")
    var key = "app-key"

    /// Creates a client of the broker that is not yet connected; throws a `ValidationError` for an invalid URL.
    func makeClient() throws -> Fanfare {
        let endpoint = try Endpoint(option: broker)
        return Fanfare(key: key, endpoint: endpoint)
    }

    /// Returns the URL of a path (without leading slash) below the demos; throws a `ValidationError` if it is invalid.
    func url(below path: String) throws -> URL {
        guard let url = URL(string: backend), url.host() != nil else {
            throw ValidationError("--backend must be a URL such as http://127.0.0.1:4000.")
        }
        return url.appending(path: path)
    }
}

/// The broker or the backend of the demos cannot be reached.
struct UnreachableDemos: Error, CustomStringConvertible {
    let reason: String

    var description: String {
        // The reason may be a sentence, or several, with a full stop.
        let reason = reason.hasSuffix(".") ? reason : reason + "."
        return "The demos cannot be reached: \(reason) Start them with \"make run\", or name them "
            + "with --broker and --backend."
    }
}

/// The lines of the standard input.
enum TypedLines {
    static func make() -> AsyncStream<String> {
        let (lines, input) = AsyncStream.makeStream(of: String.self)
        // readLine blocks, so it runs on a separate thread.
        Thread.detachNewThread {
            while let line = readLine() { input.yield(line) }
            input.finish()
        }
        return lines
    }
}

extension Endpoint {
    /// Parses the value of `--broker`; throws a `ValidationError` that states the fault.
    init(option text: String) throws(ValidationError) {
        do throws(InvalidOption) {
            try self.init(text)
        } catch {
            throw ValidationError("--broker: \(error).")
        }
    }
}
