import FanfareClient
import FanfareServer
import FoundationEssentials
import Glibc
import PusherProtocol

/// An event as a line of output.
struct EventLine: Sendable {
    /// A JSON object instead of text.
    var isJSON: Bool
    /// Whether text is coloured.
    var isColored: Bool

    /// The line, without its end.
    ///
    ///     09:33:23 userslist addUser {"id":1}
    func text(_ event: ChannelEvent, at time: Date) -> String {
        isJSON ? json(event, at: time) : plain(event, at: time)
    }

    private func plain(_ event: ChannelEvent, at time: Date) -> String {
        // What others publish must not move the cursor or fake a line.
        var seconds = time_t(time.timeIntervalSince1970)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec]
            .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        var words = [colored(clock, "2")]
        if let channel = event.channel { words.append(colored(channel.printable, "36")) }
        words.append(colored(event.name.printable, "1"))
        if let userID = event.userID { words.append(colored("(\(userID.printable))", "35")) }
        if let data = event.data { words.append(data.printable) }
        return words.joined(separator: " ")
    }

    private func json(_ event: ChannelEvent, at time: Date) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.name("time")
        json.string(Timestamp(Int64(time.timeIntervalSince1970 * 1_000) * 1_000_000).text)
        for (name, value) in [
            ("channel", event.channel), ("event", event.name), ("data", event.data),
            ("user_id", event.userID),
        ] {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func colored(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
