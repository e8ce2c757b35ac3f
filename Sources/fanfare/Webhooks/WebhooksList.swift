import ArgumentParser
import CommandSupport
import Glibc
import Webhooks

/// `fanfare webhooks list`: shows dead letters.
struct WebhooksList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the webhooks that could not be delivered, newest first.",
        discussion: """
            Shows each dead letter's number, time, app and URL, why it was not delivered, and its \
            events.

            Examples:
              fanfare webhooks list --config fanfare.yaml
              fanfare webhooks list --limit 100
              fanfare webhooks list --all --json | jq 'select(.app == "1").events'
            """
    )

    @OptionGroup var file: WebhookFile

    @Option(help: ArgumentHelp("Maximum number to show.", valueName: "count"))
    var limit: Int?

    @Flag(help: "Show all.")
    var all = false

    @Flag(help: "Print each as one line of JSON.")
    var json = false

    /// The number of dead letters shown by default.
    private static let defaultLimit = 20
    /// The number of dead letters read at a time.
    private static let batchSize = 100

    func validate() throws {
        if limit != nil, all { throw ValidationError("Choose --limit or --all.") }
        if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    }

    func run() throws {
        let queue = try file.open()
        let formatter = DeadLetterText(
            isJSON: json,
            isColored: Console.supportsColor(STDOUT_FILENO)
        )
        var remaining = all ? Int.max : limit ?? Self.defaultLimit
        var shown = 0
        do {
            var last: Int64?
            while remaining > 0 {
                let letters = try queue.deadLetters(
                    countMax: min(remaining, Self.batchSize),
                    before: last
                )
                guard let oldest = letters.last else { break }
                for letter in letters { Console.print(formatter.text(letter)) }
                last = oldest.id
                shown += letters.count
                remaining -= letters.count
            }
            guard !json else { return }
            Console.print(
                Self.summary(
                    shown: shown,
                    count: try queue.deadLetterCount(),
                    waiting: try queue.deliveryCount()
                )
            )
        } catch {
            throw file.commandError(error)
        }
    }

    /// A line with the total number of dead letters and waiting webhooks.
    static func summary(shown: Int, count: Int, waiting: Int) -> String {
        let letters =
            switch count {
            case 0: "No dead letters"
            case 1: "1 dead letter"
            case shown: "\(count) dead letters"
            default: "\(count) dead letters (--all shows all)"
            }
        let webhooks =
            switch waiting {
            case 0: "no webhooks wait"
            case 1: "1 webhook waits"
            default: "\(waiting) webhooks wait"
            }
        return "\(letters); \(webhooks) to be sent."
    }
}
