internal import Logging
internal import Primitives

/// The format of a log line.
public enum LogFormat: String, Sendable, Hashable, CaseIterable {
    /// Text on a terminal, JSON lines otherwise.
    case auto
    /// Aligned text; coloured on a terminal.
    case text
    /// One JSON object per line.
    case json
}

/// One log message, until it is written.
struct LogRecord: Sendable {
    /// The time, in nanoseconds since 1970.
    var time: Int64
    var level: Logger.Level
    /// The logger's label: the part of the program.
    var label: String
    var message: String
    /// The metadata, sorted by name.
    var fields: [(name: String, value: Logger.MetadataValue)]
}

/// Formats records.
protocol LogFormatter: Sendable {
    /// Appends a record as one line, with its line end.
    func append(_ record: LogRecord, to bytes: inout [UInt8])
}

/// Formats records as aligned text: time, level, label, message, then `name=value`.
///
///     09:33:23.042 info    broker   listening  address=127.0.0.1:6001 loops=2
struct TextLogFormatter: LogFormatter {
    /// Whether levels and fields are coloured (ECMA-48 §8.3.117, which every terminal knows).
    var isColored: Bool

    func append(_ record: LogRecord, to bytes: inout [UInt8]) {
        let time = Timestamp(record.time).text.dropFirst(11).dropLast()
        var line = "\(color("2"))\(time)\(color("0")) "
        line += color(Self.colors[record.level] ?? "0")
        line += padded(record.level.rawValue, to: 8) + color("0") + " "
        line += padded(record.label.printable, to: 8) + " "
        // A message with several lines is written on one.
        line += record.message.printable
        if !record.fields.isEmpty { line += " " }
        for (name, value) in record.fields {
            let text = "\(value)".printable
            let needsQuotes = text.isEmpty || text.utf8.contains { " \"=".utf8.contains($0) }
            let shown = needsQuotes ? "\"\(text.replacing(bytesOf: "\"", with: "\\\""))\"" : text
            line += " \(color("2"))\(name.printable)=\(color("0"))\(shown)"
        }
        bytes += line.utf8
        bytes.append(UInt8(ascii: "\n"))
    }

    private func color(_ code: String) -> String { isColored ? "\u{1B}[\(code)m" : "" }

    private func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static let colors: [Logger.Level: String] = [
        .trace: "2", .debug: "2", .info: "32", .notice: "36", .warning: "33", .error: "31",
        .critical: "1;31",
    ]
}
