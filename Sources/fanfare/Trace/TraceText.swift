import CommandSupport
import FoundationEssentials
import Glibc
import Primitives
import PusherProtocol

/// A batch of what has happened, as the broker sends it.
struct TraceBatch: Decodable {
    /// Something that has happened.
    struct Record: Decodable, Equatable {
        /// Milliseconds since 1970.
        var at: Int64
        /// What has happened, such as `event`, `subscribed` or `refused`.
        var kind: String
        var channel: String?
        /// The name of an event.
        var event: String?
        /// The beginning of an event's data.
        var data: String?
        /// The length of the data, in bytes.
        var length: Int?
        /// The client; of an event of a backend, the one that it excludes.
        var socket: String?
        var user: String?
        var address: String?
        /// The name and version of a client's library.
        var library: String?
        /// What was refused.
        var subject: String?
        var reason: String?
        var advice: String?
        var request: String?
        var code: Int?

        /// Whether only the beginning of the data is there.
        var isCut: Bool { data.map { $0.utf8.count < length ?? 0 } ?? false }
    }

    var records: [Record]
    /// The number of what happened besides, too fast to be recorded.
    var omitted: Int
}

/// Prints batches until enough is printed.
struct TracePrinter {
    let text: TraceText
    /// The number of lines to print yet.
    private(set) var remaining: Int

    init(text: TraceText, remaining: Int) {
        (self.text, self.remaining) = (text, remaining)
    }

    /// Whether enough is printed.
    var isDone: Bool { remaining <= 0 }

    /// Prints a batch in the form that the broker sends.
    mutating func print(_ body: [UInt8]) throws {
        let batch: TraceBatch
        do {
            batch = try JSONDecoder().decode(TraceBatch.self, from: Data(body))
        } catch {
            throw CommandError("The answer is not one of a broker of this version: \(error)")
        }
        for record in batch.records.prefix(remaining) { Console.print(text.line(record)) }
        remaining -= batch.records.count
        guard batch.omitted > 0, !isDone else { return }
        Console.printError(
            "\(batch.omitted) more were left out: they came faster than they can be shown"
        )
    }
}

/// Formats what has happened as lines of output.
struct TraceText {
    /// Whether the line is a JSON object.
    var isJSON: Bool
    /// Whether text is coloured.
    var isColored: Bool

    /// The line, without a line feed.
    ///
    ///     09:33:23.042 event        news addUser {"id":1}
    ///     09:33:24.107 subscribed   presence-room 27.9132 (42)
    ///     09:33:25.310 refused      subscription of private-x 27.9132: Invalid signature. Check …
    func line(_ record: TraceBatch.Record) -> String {
        isJSON ? json(record) : plain(record)
    }

    private func plain(_ record: TraceBatch.Record) -> String {
        let color = record.kind == "refused" ? "31" : "1"
        let width = 14
        let padding = String(repeating: " ", count: max(1, width - record.kind.count))
        var words = [colored(time(record.at), "2"), colored(record.kind, color) + padding]
        if record.kind == "refused" {
            words.append(refusal(record))
        } else {
            if let channel = record.channel { words.append(colored(channel.printable, "36")) }
            if let event = record.event { words.append(colored(event.printable, "1")) }
            if let socket = record.socket {
                words.append(record.kind == "event" ? "(not to \(socket))" : socket)
            }
            if let user = record.user { words.append(colored("(\(user.printable))", "35")) }
            if let address = record.address { words.append(address.printable) }
            if let library = record.library { words.append(library.printable) }
            if let data = record.data { words.append(data.printable + (record.isCut ? "…" : "")) }
        }
        return words.joined(separator: " ")
    }

    private func refusal(_ record: TraceBatch.Record) -> String {
        var text = (record.subject ?? "request").printable
        if let channel = record.channel { text += " of \(channel.printable)" }
        for detail in [record.request, record.socket, record.address].compactMap(\.self) {
            text += " \(detail.printable)"
        }
        if let reason = record.reason { text += ": \(reason.printable)" }
        if let code = record.code { text += " (\(code))" }
        if let advice = record.advice { text += "; \(advice.printable)" }
        return text
    }

    private func json(_ record: TraceBatch.Record) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.name("time")
        json.string(Timestamp(record.at * 1_000_000).text)
        for (name, value) in [
            ("kind", record.kind), ("channel", record.channel), ("event", record.event),
            ("data", record.data), ("socket_id", record.socket), ("user_id", record.user),
            ("address", record.address), ("library", record.library), ("subject", record.subject),
            ("reason", record.reason), ("advice", record.advice), ("request", record.request),
        ] {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
        for (name, value) in [("length", record.length), ("code", record.code)] {
            guard let value else { continue }
            json.name(name)
            json.integer(value)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// The local time of day, with milliseconds.
    private func time(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec]
            .map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        return "\(clock).\("\(1_000 + milliseconds % 1_000)".dropFirst())"
    }

    private func colored(_ text: String, _ code: String) -> String {
        isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
