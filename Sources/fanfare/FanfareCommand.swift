import ArgumentParser
import Broker
import CommandSupport
import FanfareBench
import FanfareServer

/// The `fanfare` program.
@main
struct FanfareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare",
        abstract: "A realtime broker that speaks the Pusher Channels protocol, and its tools.",
        discussion: """
            Examples:
              fanfare serve                       a development broker, 127.0.0.1:6001
              fanfare listen news                 shows the events of a channel
              fanfare trigger hello 1 --channel news
                                                  sends an event
              fanfare history news                shows the events kept for a channel
              fanfare why news 42                 shows who received an event
              fanfare keys app                    creates credentials for an app
              fanfare check --config fanfare.yaml checks a configuration
              fanfare nodes --config fanfare.yaml lists the nodes of a cluster
              fanfare top                         shows a broker's load, each second
              fanfare trace --user 42             shows events and refusals live
              fanfare health                      checks whether a broker serves
              fanfare drain                       stops a broker gracefully
              fanfare webhooks                    lists webhooks that were not delivered
              fanfare bench fanout                load-tests a broker

            Run "fanfare help COMMAND" for details.
            """,
        version: BrokerVersion.current,
        subcommands: [
            Serve.self, Trigger.self, Listen.self, History.self, Why.self, Keys.self,
            Check.self, Nodes.self, Top.self, Trace.self, Drain.self, Health.self,
            WebhooksCommand.self,
            BenchCommand.self,
        ]
    )
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let mistake = CommandName.mistake(in: arguments, of: self) {
            Console.printError(mistake)
            exit(withError: ExitCode.validationFailure)
        }
        await main(arguments)
    }
}
