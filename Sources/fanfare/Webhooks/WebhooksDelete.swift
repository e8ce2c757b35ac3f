import ArgumentParser
import Webhooks

/// `fanfare webhooks delete`: removes dead letters for good.
struct WebhooksDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete webhooks for good that could not be delivered.",
        discussion: """
            --all leaves those that are about to be sent again.

            Examples:
              fanfare webhooks delete 1763743203042000 --config fanfare.yaml
              fanfare webhooks delete --all
            """
    )

    @OptionGroup var choice: DeadLetterChoice

    @OptionGroup var file: WebhookFile

    func run() throws {
        try choice.apply(
            in: file,
            all: { queue throws(WebhookQueueError) in try queue.deleteAll() },
            each: { queue, id throws(WebhookQueueError) in try queue.delete(id) },
            outcome: { count in
                switch count {
                case 0: "There is nothing to delete."
                case 1: "1 dead letter is deleted."
                default: "\(count) dead letters are deleted."
                }
            }
        )
    }
}
