import ArgumentParser

/// The demos in a terminal, written with the Swift SDK.
@main struct DemoTerminal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-terminal",
        abstract: "Shows the demos in a terminal, live, and changes what they show.",
        discussion: """
            Start the broker and the demos with "make run" first, and open a page beside the terminal.

            Examples:
              demo-terminal table                        shows the Realtime table
              demo-terminal table --do "move 3 1"        changes the list and ends
              demo-terminal text                         shows the shared text
              demo-terminal to-do                        shows the to-dos, from a database of its own
            """,
        subcommands: [TableTerminal.self, TextTerminal.self, ToDoTerminal.self]
    )
}
