import ArgumentParser

/// `fanfare bench`: measures a server that speaks the Pusher protocol, and checks what it does.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure a server that speaks the Pusher protocol, and check what it does.",
        discussion: """
            Every delivery must arrive once and in order; otherwise the exit code is 1. Where the \
            server runs on this machine, its CPU time and memory are measured too. A wss:// URL \
            goes through TLS; --deflate offers compression.

            Examples:
              fanfare bench fanout
              fanfare bench channels --channels 500 --subscribers 4 --rate 1000
              fanfare bench churn --url wss://localhost:6002 --insecure
              fanfare bench idle --connections 10000
              fanfare bench presence --observers 50
              fanfare bench joins --users 5000
              fanfare bench stalled --stalled 1000
              fanfare bench overload --publishers 16
              fanfare bench soak --seconds 1800
              fanfare bench all --json result.json
            """,
        subcommands: [
            FanoutCommand.self, ChannelsCommand.self, ChurnCommand.self, IdleCommand.self,
            PresenceCommand.self, JoinsCommand.self, StalledCommand.self, OverloadCommand.self,
            SoakCommand.self, AllCommand.self,
        ]
    )
}
