import ArgumentParser
import Webhooks

/// `fanfare webhooks replay`: lets dead letters be sent again.
struct WebhooksReplay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Send webhooks again that could not be delivered.",
        discussion: """
            The broker that uses the file sends them within seconds, or when it is started: as new \
            webhooks, with the time of then and a new signature, and for as long as any other. What \
            fails once more is a dead letter again.

            Examples:
              fanfare webhooks replay 1763743203042000 --config fanfare.yaml
              fanfare webhooks replay --all
            """
    )

    @OptionGroup var choice: DeadLetterChoice

    @OptionGroup var file: WebhookFile

    func run() throws {
        try choice.apply(
            in: file,
            all: { queue throws(WebhookQueueError) in try queue.replayAll() },
            each: { queue, id throws(WebhookQueueError) in try queue.replay(id) },
            outcome: { count in
                switch count {
                case 0: "There is nothing to send again."
                case 1: "1 webhook is sent again, within seconds if the broker runs."
                default: "\(count) webhooks are sent again, within seconds if the broker runs."
                }
            }
        )
    }
}
