import ArgumentParser

/// `fanfare bench`: measures a server that speaks the Pusher protocol, and checks what it does.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures a server that speaks the Pusher protocol.",
        subcommands: [FanoutCommand.self]
    )
}
