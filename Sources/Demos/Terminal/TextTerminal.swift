import ArgumentParser
import FanfareClient
import Foundation
import LiveCollections

/// The shared text in a terminal, with the Swift SDK.
struct TextTerminal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "text",
        abstract: "Shows the shared text in a terminal, live, and edits it line by line.",
        discussion: """
            Start the broker and the demos with "make run" first.

            Examples:
              demo-terminal text
              demo-terminal text --do "append Hello from a shell"     adds a line and exits
            """
    )

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
        let client = Fanfare(key: key, endpoint: endpoint)
        let requests = try TextBackend(url: backend)
        let channel = client.subscribe("collabo")
        let text = LiveText(from: requests.source(channel))
        let screen = TextScreen(text)
        channel.onContinuity { screen.show($0) }
        text.start()
        client.connect()
        defer { client.disconnect() }
        if let command {
            while !text.isLoaded { try await Task.sleep(for: .milliseconds(20)) }
            _ = try perform(command, text)
            while !text.unsent.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
            return
        }
        for await line in TypedLines.make() {
            do {
                guard try perform(line, text) else { break }
                screen.draw()
            } catch {
                screen.report(error)
            }
        }
        text.stop()
    }

    /// Runs one command; returns `false` for `quit`.
    @MainActor private func perform(_ line: String, _ text: LiveText) throws -> Bool {
        let command = try TextCommand(line)
        guard let edit = try command.edit(of: text.string) else { return false }
        try text.replace(edit.range, with: edit.replacement)
        return true
    }
}
