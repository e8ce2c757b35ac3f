import ArgumentParser
import FanfareClient
import Foundation
import LiveCollections

/// The Realtime table in a terminal, with the Swift SDK.
struct TableTerminal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table",
        abstract: "Shows and edits the Realtime table in a terminal, live.",
        discussion: """
            Start the broker and the demos with "make run" first.

            Examples:
              demo-terminal table
              demo-terminal table --do "move 3 1"     edits the list and exits
            """
    )

    @OptionGroup var addresses: DemoAddresses

    @Option(name: .customLong("do"), help: "A command to run instead of the prompt.")
    var command: String?

    @MainActor func run() async throws {
        let client = try addresses.makeClient()
        let channel = client.channel("userslist")
        let people = LiveList(
            ChannelSource<Person>(
                channel: channel,
                base: try addresses.url(below: "table/rows")
            )
        )
        defer { client.disconnect() }
        if let command { return try await run(command, on: people, client) }
        client.connect()

        let screen = TableScreen(
            title: "Realtime table",
            hint: "add NAME · remove N · move N M · quit"
        )
        people.observe { screen.show($0.rows.map(\.name), $0.state) }
        people.observeRefusals { screen.report($0.error) }
        client.onStatusChange { screen.show($0) }
        channel.onContinuity { screen.show($0) }
        for await line in TypedLines.make() {
            do {
                guard
                    try TableCommand(line, rowCount: people.rows.count).run(on: people) != nil
                else { return }
            } catch {
                screen.report(error)
            }
        }
    }

    /// The longest wait for rows and for the confirmation of an edit.
    private static let patience = Duration.seconds(20)

    /// Runs one command and waits until the backend has confirmed it; fails if the broker or the backend is
    /// unreachable.
    @MainActor private func run(
        _ line: String,
        on people: LiveList<Person>,
        _ client: Fanfare
    ) async throws {
        let (outcomes, outcome) = AsyncStream.makeStream(of: (any Error)?.self)
        client.onStatusChange { status in
            switch status {
            case .waiting(_, let error), .failed(let error):
                outcome.yield(UnreachableDemos(reason: "\(error)"))
            case .connecting, .connected, .disconnected, .suspended: break
            }
        }
        client.connect()
        let edit = Task { @MainActor in
            do {
                try await self.edit(line, people)
                outcome.yield(nil)
            } catch {
                outcome.yield(error)
            }
        }
        let watch = Task {
            try await Task.sleep(for: Self.patience)
            outcome.yield(UnreachableDemos(reason: "no answer within \(Self.patience)"))
        }
        defer {
            edit.cancel()
            watch.cancel()
        }
        for await error in outcomes {
            if let error { throw error }
            return
        }
    }

    @MainActor private func edit(_ line: String, _ people: LiveList<Person>) async throws {
        for await update in people.updates where !update.state.isLoading {
            if let error = update.state.error { throw UnreachableDemos(reason: "\(error)") }
            break
        }
        let command = try TableCommand(line, rowCount: people.rows.count)
        try await command.run(on: people)?.confirmed()
    }
}

/// A row of the Realtime table.
struct Person: Codable, Equatable, Identifiable, Sendable {
    /// The ID, created by the client that adds the person: a random number from 2³² up to 2⁵³.
    var id = Int64.random(in: 1 << 32..<1 << 53)
    var name: String
}

extension TableCommand {
    /// Edits the list and returns the pending edit; `nil` for `quit`.
    @MainActor func run(on people: LiveList<Person>) -> PendingEdit? {
        switch self {
        case .add(let name): people.edit { $0.append(Person(name: name)) }
        case .remove(let index): people.edit { $0.remove(at: index) }
        case .move(let source, let destination):
            people.edit { $0.move(from: source, to: destination) }
        case .quit: nil
        }
    }
}
