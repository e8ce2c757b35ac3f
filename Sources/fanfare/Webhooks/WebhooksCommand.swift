import ArgumentParser
import BrokerConfiguration
import CommandSupport
import Webhooks

/// The file of a broker's webhook queue, named by the broker's configuration.
struct WebhookFile: ParsableArguments {
    @OptionGroup var source: ConfigurationSource

    /// Opens the file, which the broker may be using.
    func open() throws -> WebhookQueue {
        guard let path = try source.load(sections: ["webhooks"]).webhooks.database else {
            let configuration = source.path.map { "in \($0)" }
            throw CommandError(
                "webhooks.database is none \(configuration ?? "without a configuration"): webhooks "
                    + "are kept only in the broker's memory. "
                    + (configuration == nil
                        ? "Give the broker's configuration with --config."
                        : "Set it to a path, and restart the broker.")
            )
        }
        do {
            return try WebhookQueue(reading: path)
        } catch {
            throw commandError(error)
        }
    }

    /// The error to show when the file cannot be used.
    func commandError(_ error: WebhookQueueError) -> CommandError {
        switch error {
        case .missing(let path):
            CommandError(
                "The file \(path) of webhooks.database does not exist. The broker creates it when "
                    + "it starts with an app that has webhooks."
            )
        case .failed(let reason): CommandError("The webhook file cannot be used: \(reason)")
        }
    }
}

/// `fanfare webhooks`: manages undelivered webhooks.
struct WebhooksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "List, resend or delete dead letters: webhooks that were not delivered.",
        discussion: """
            A webhook is retried for five minutes, then becomes a dead letter. Dead letters are \
            kept in the file of webhooks.database in the broker's configuration. These commands \
            may be used while the broker runs.

            Examples:
              fanfare webhooks --config fanfare.yaml
              fanfare webhooks list --all --json | jq .url
              fanfare webhooks replay 1763743203042000
              fanfare webhooks replay --all
              fanfare webhooks delete 1763743203042000
            """,
        subcommands: [WebhooksList.self, WebhooksReplay.self, WebhooksDelete.self],
        defaultSubcommand: WebhooksList.self
    )
}
