import ArgumentParser
import FanfareClient
import Foundation

/// The same list as on the web page, in a terminal, with the Swift SDK.
struct TableTerminal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table",
        abstract: "Shows the Realtime table in a terminal, live, and changes it.",
        discussion: """
            Start the broker and the demos with "make run" first.

            Examples:
              demo-terminal table
              demo-terminal table --do "move 3 1"     changes the list and ends
            """
    )

    @Option(help: "The URL of the demos.")
    var backend = "http://127.0.0.1:4000"

    @Option(help: "The URL of the broker.")
    var broker = "ws://127.0.0.1:6001"

    @Option(help: "The app's key.")
    var key = "app-key"

    @Option(name: .customLong("do"), help: "A command to carry out instead of asking for some.")
    var command: String?

    @MainActor func run() async throws {
        guard let endpoint = Endpoint(broker) else {
            throw ValidationError("--broker must be a URL such as ws://127.0.0.1:6001.")
        }
        let list = try TableBackend(url: backend)
        let screen = TableScreen()
        let client = FanfareClient(key: key, endpoint: endpoint)
        let channel = client.subscribe(TableEvents.channel)
        channel.bind { event in
            do {
                guard let change = try TableEvents.change(of: event) else { return }
                screen.apply(change)
            } catch {
                screen.report(error)
            }
        }
        // What happened while the connection was away is in no event: the list is loaded anew each time.
        channel.bind("pusher:subscription_succeeded") { _ in
            screen.beginLoading()
            Task { @MainActor in
                do { screen.replace(with: try await list.users()) } catch { screen.report(error) }
            }
        }
        client.onStatusChange { _, status in screen.show(status) }
        client.connect()
        defer { client.disconnect() }
        if let command {
            try await channel.waitUntilSubscribed()
            screen.replace(with: try await list.users())
            _ = try await perform(command, list, screen)
            return
        }
        for await line in TypedLines.make() {
            do {
                guard try await perform(line, list, screen) else { return }
            } catch {
                screen.report(error)
            }
        }
    }

    /// Carries out one command; false when it was the last.
    @MainActor private func perform(
        _ line: String,
        _ list: TableBackend,
        _ screen: TableScreen
    ) async throws -> Bool {
        let rows = screen.table.rows
        switch try TableCommand(line, rowCount: rows.count) {
        case .add(let name): try await list.add(name: name)
        case .remove(let index): try await list.remove(rows[index], index: index)
        case .move(let source, let destination):
            try await list.move(rows, from: source, to: destination)
        case .quit: return false
        }
        return true
    }
}
