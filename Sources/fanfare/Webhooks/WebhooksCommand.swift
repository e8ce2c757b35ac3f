import ArgumentParser
import CommandSupport
import FanfareServer
import Webhooks

/// The file of a broker's webhook queue, named by the broker's configuration.
struct WebhookFile: ParsableArguments {
    @OptionGroup var source: ConfigurationSource

    /// Opens the file, which the broker may be using.
    func open() throws -> WebhookQueue {
        guard let path = try source.load().webhooks.database else {
            let configuration = source.path.map { "in \($0)" }
            throw CommandError(
                "webhooks.database is none \(configuration ?? "without a configuration"), so that "
                    + "webhooks are kept in the broker's memory alone. "
                    + (configuration == nil
                        ? "Name the broker's own with --config."
                        : "Set it to a path, and they are kept there from the next start on.")
            )
        }
        do {
            return try WebhookQueue(reading: path)
        } catch {
            throw refusal(error)
        }
    }

    /// The error to show when the file cannot be used.
    func refusal(_ error: WebhookQueueError) -> CommandError {
        switch error {
        case .missing(let path):
            CommandError(
                "There is no file \(path), which webhooks.database names. A broker makes it when it "
                    + "starts and an app has webhooks."
            )
        case .failed(let reason): CommandError("The file of the webhooks cannot be used: \(reason)")
        }
    }
}

/// `fanfare webhooks`: manages undelivered webhooks.
struct WebhooksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "List, send again or delete webhooks that could not be delivered.",
        discussion: """
            An endpoint that fails is tried again for five minutes; then the webhook is a dead \
            letter. They are kept in the file that webhooks.database of the broker's \
            configuration names, also while the broker runs.

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
