import ArgumentParser
import Broker
import CommandSupport
import Glibc
import Primitives
import PusherProtocol
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

/// Formats dead letters.
struct DeadLetterText {
    /// Whether the text is a JSON object.
    var isJSON: Bool
    /// Whether text is coloured.
    var isColored: Bool

    /// The lines, without a line feed at the end.
    ///
    ///     1763743203042000  2026-11-21T16:45:03.042Z  app 1  https://example.com/webhooks
    ///         exhausted (10 attempts since the broker's start): the endpoint answered 500
    ///         [{"name":"channel_occupied","channel":"news"}]
    func text(_ letter: DeadLetter) -> String { isJSON ? json(letter) : plain(letter) }

    private func plain(_ letter: DeadLetter) -> String {
        // Attempts are counted in memory: those of an earlier run are not among them.
        let attempts =
            (letter.attempts == 1 ? "1 attempt" : "\(letter.attempts) attempts")
            + " since the broker's start"
        let replay = letter.isReplayed ? "; about to be sent again" : ""
        // Control characters from clients must not reach the terminal.
        return [
            "\(colored("\(letter.id)", "1"))  \(time(letter.deathTime))  "
                + "app \(letter.app.text.printable)  \(colored(letter.shownURL.printable, "36"))",
            "    \(letter.cause.rawValue) (\(attempts)): \(letter.detail.printable)\(replay)",
            "    \(letter.eventsJSON.printable)",
        ].joined(separator: "\n")
    }

    private func json(_ letter: DeadLetter) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.name("id")
        json.integer(Int(letter.id))
        for (name, value) in [
            ("app", letter.app.text), ("url", letter.shownURL), ("time", time(letter.time)),
            ("given_up", time(letter.deathTime)), ("cause", letter.cause.rawValue),
            ("detail", letter.detail),
        ] {
            json.name(name)
            json.string(value)
        }
        json.name("attempts")
        json.integer(letter.attempts)
        json.name("is_replayed")
        json.boolean(letter.isReplayed)
        json.name("channels")
        json.beginArray()
        for channel in letter.channels { json.string(channel) }
        json.endArray()
        json.name("events")
        json.verbatim(Array(letter.eventsJSON.utf8))
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// A time in milliseconds since 1970, formatted in UTC.
    private func time(_ milliseconds: Int64) -> String { Timestamp(milliseconds * 1_000_000).text }

    private func colored(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
