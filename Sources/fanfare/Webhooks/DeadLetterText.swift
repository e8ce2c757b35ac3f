import Broker
import FanfareServer
import PusherProtocol
import Webhooks

/// Formats dead letters.
struct DeadLetterText {
    /// Whether the text is a JSON object.
    var isJSON: Bool
    /// Whether text is coloured.
    var isColored: Bool

    /// The lines, without a line feed at the end.
    ///
    ///     1763743203042000  2026-11-21T16:45:03.042Z  app 1  https://example.com/webhooks
    ///         exhausted after 10 attempts: the endpoint answered 500
    ///         [{"name":"channel_occupied","channel":"news"}]
    func text(_ letter: DeadLetter) -> String { isJSON ? json(letter) : plain(letter) }

    private func plain(_ letter: DeadLetter) -> String {
        let attempts = letter.attempts == 1 ? "1 attempt" : "\(letter.attempts) attempts"
        let replay = letter.isReplayed ? "; about to be sent again" : ""
        // Control characters from clients must not reach the terminal.
        return [
            "\(colored("\(letter.id)", "1"))  \(time(letter.deathTime))  "
                + "app \(letter.app.text.printable)  \(colored(letter.url.printable, "36"))",
            "    \(letter.cause.rawValue) after \(attempts): \(letter.detail.printable)\(replay)",
            "    \(letter.eventsJSON.printable)",
        ].joined(separator: "\n")
    }

    private func json(_ letter: DeadLetter) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.name("id")
        json.integer(Int(letter.id))
        for (name, value) in [
            ("app", letter.app.text), ("url", letter.url), ("time", time(letter.time)),
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
