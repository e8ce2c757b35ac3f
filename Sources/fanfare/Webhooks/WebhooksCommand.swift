import ArgumentParser

/// `fanfare webhooks`: looks after those that could not be delivered.
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
