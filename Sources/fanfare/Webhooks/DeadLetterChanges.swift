import ArgumentParser
import CommandSupport
import Webhooks

/// The dead letters that a command changes.
struct DeadLetterSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The numbers, as \"fanfare webhooks list\" shows them.",
            valueName: "id"
        )
    )
    var ids: [Int64] = []

    @Flag(help: "All dead letters.")
    var all = false

    func validate() throws {
        if ids.isEmpty, !all {
            throw ValidationError("Give the numbers of dead letters, or --all.")
        }
        if !ids.isEmpty, all { throw ValidationError("Give either numbers or --all.") }
    }

    /// Changes the selected dead letters, and prints the number.
    ///
    /// - Parameters:
    ///   - file: The webhook file.
    ///   - changeAll: Changes all dead letters; returns their number.
    ///   - change: Changes one dead letter; returns whether it exists.
    ///   - outcome: The text to print for a number of dead letters.
    /// - Throws: When the file fails; dead letters changed before stay changed. `ExitCode.failure` when a named one
    ///   does not exist.
    func apply(
        in file: WebhookFile,
        all changeAll: (WebhookQueue) throws(WebhookQueueError) -> Int,
        each change: (WebhookQueue, Int64) throws(WebhookQueueError) -> Bool,
        outcome: (Int) -> String
    ) throws {
        let queue = try file.open()
        let count: Int
        do throws(WebhookQueueError) {
            count = all ? try changeAll(queue) : try self.count(in: queue, change)
        } catch {
            throw file.commandError(error)
        }
        Console.print(outcome(count))
        if !all, count < Set(ids).count { throw ExitCode.failure }
    }

    /// Changes the named dead letters and reports those that do not exist; returns the number that was changed.
    private func count(
        in queue: WebhookQueue,
        _ change: (WebhookQueue, Int64) throws(WebhookQueueError) -> Bool
    ) throws(WebhookQueueError) -> Int {
        var count = 0
        for id in Set(ids).sorted() {
            if try change(queue, id) {
                count += 1
            } else {
                Console.printError("fanfare: no dead letter \(id)")
            }
        }
        return count
    }
}

/// `fanfare webhooks replay`: sends dead letters again.
struct WebhooksReplay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Send dead letters again.",
        discussion: """
            The broker that uses the file sends them within seconds, or when it starts: as new \
            webhooks, with the current time, a new signature and all retries. Those that fail \
            again become dead letters again.

            Examples:
              fanfare webhooks replay 1763743203042000 --config fanfare.yaml
              fanfare webhooks replay --all
            """
    )

    @OptionGroup var selection: DeadLetterSelection

    @OptionGroup var file: WebhookFile

    func run() throws {
        try selection.apply(
            in: file,
            all: { queue throws(WebhookQueueError) in try queue.replayAll() },
            each: { queue, id throws(WebhookQueueError) in try queue.replay(id) },
            outcome: { count in
                switch count {
                case 0: "No dead letters to send again."
                case 1: "1 webhook is sent again, within seconds if the broker runs."
                default: "\(count) webhooks are sent again, within seconds if the broker runs."
                }
            }
        )
    }
}

/// `fanfare webhooks delete`: deletes dead letters.
struct WebhooksDelete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete dead letters permanently.",
        discussion: """
            --all does not delete those that are about to be sent again.

            Examples:
              fanfare webhooks delete 1763743203042000 --config fanfare.yaml
              fanfare webhooks delete --all
            """
    )

    @OptionGroup var selection: DeadLetterSelection

    @OptionGroup var file: WebhookFile

    func run() throws {
        try selection.apply(
            in: file,
            all: { queue throws(WebhookQueueError) in try queue.deleteAll() },
            each: { queue, id throws(WebhookQueueError) in try queue.delete(id) },
            outcome: { count in
                switch count {
                case 0: "No dead letters to delete."
                case 1: "1 dead letter deleted."
                default: "\(count) dead letters deleted."
                }
            }
        )
    }
}
