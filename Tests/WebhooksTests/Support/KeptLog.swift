import Logging
import Synchronization

/// A log that stores its records.
final class KeptLog: Sendable {
    private let lines = Mutex<[(level: Logger.Level, text: String)]>([])

    var logger: Logger {
        Logger(label: "webhooks") { [self] _ in Handler(log: self) }
    }

    /// Whether a record of a level contains all these texts, in its message or its metadata.
    func has(_ level: Logger.Level, _ texts: String...) -> Bool {
        lines.withLock { lines in
            lines.contains { line in
                line.level == level && texts.allSatisfy { line.text.contains($0) }
            }
        }
    }

    /// All records, one on each line.
    var text: String {
        lines.withLock { $0.map { "\($0.level) \($0.text)" }.joined(separator: "\n") }
    }

    private struct Handler: LogHandler {
        let log: KeptLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }
            let text = ([event.message.description] + fields).joined(separator: " ")
            log.lines.withLock { $0.append((event.level, text)) }
        }
    }
}
