import ArgumentParser
import FanfareClient
import GRDB
import LiveCollections
import LiveQueries

/// The to-dos in a terminal with a local database: it works offline and syncs afterwards.
struct ToDoTerminal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "to-do",
        abstract: "Shows and edits the to-dos in a terminal, from a local database.",
        discussion: """
            All rows are in a local SQLite file, which a sync updates. Stop the \
            demos, edit the list, and start them again.

            Examples:
              demo-terminal to-do
              demo-terminal to-do --do "add Buy bread by 2026-12-24"     edits the list and exits
            """
    )

    @Option(help: "The local database file.")
    var database = "var/to-do-terminal.sqlite"

    @Option(help: "The URL of the demos.")
    var backend = "http://127.0.0.1:4000"

    @Option(help: "The URL of the broker.")
    var broker = "ws://127.0.0.1:6001"

    @Option(help: "The app's key.")
    var key = "app-key"

    @Option(name: .customLong("do"), help: "A command to run instead of the prompt.")
    var command: String?

    @MainActor func run() async throws {
        let endpoint = try Endpoint(option: broker)
        let local = try LocalToDos(path: database)
        let screen = ToDoScreen()
        let sync = ToDoSync(local, try ToDoBackend(url: backend)) { outcome in
            await screen.show(outcome)
        } refused: { reason in
            await screen.report("The backend refused: \(reason)")
        }
        if let command {
            // Row numbers refer to the backend's rows if the backend is available.
            try await sync.sync()
            let rows = try await local.database.read(LocalToDos.open)
            guard case .edit(let edit) = try ToDoCommand(command, rows: rows) else { return }
            try local.edit(edit)
            return try await sync.sync()
        }
        // The list follows the database, regardless of the writer.
        let list = LiveList(QuerySource(in: local.database, fetch: LocalToDos.open))
        let observation = list.observe { screen.show($0) }
        defer { observation.cancel() }

        let client = Fanfare(key: key, endpoint: endpoint)
        for channel in ["to-do-open", "to-do-done"] {
            client.subscribe(channel).bind { _ in Self.start(sync, screen) }
        }
        client.connect()
        defer { client.disconnect() }
        let retries = Task {
            while !Task.isCancelled {
                Self.start(sync, screen)
                try await Task.sleep(for: ToDoSync.pause)
            }
        }
        defer { retries.cancel() }
        await perform(TypedLines.make(), local, sync, screen)
    }

    /// Runs the commands of the prompt.
    @MainActor private func perform(
        _ lines: AsyncStream<String>,
        _ local: LocalToDos,
        _ sync: ToDoSync,
        _ screen: ToDoScreen
    ) async {
        var lastDone: Int64?
        for await line in lines {
            do {
                screen.clearProblem()
                switch try ToDoCommand(line, rows: screen.rows) {
                case .edit(let edit):
                    if case .complete(let id) = edit { lastDone = id }
                    try local.edit(edit)
                case .undo:
                    guard let id = lastDone else {
                        screen.report("There is nothing to undo.")
                        continue
                    }
                    lastDone = nil
                    try local.edit(.reopen(id))
                case .quit: return
                }
                Self.start(sync, screen)
            } catch {
                screen.report("\(error)")
            }
        }
    }

    @MainActor private static func start(_ sync: ToDoSync, _ screen: ToDoScreen) {
        Task {
            do { try await sync.sync() } catch { screen.report("\(error)") }
        }
    }
}
