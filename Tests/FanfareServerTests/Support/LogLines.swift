import Logging
import Synchronization

/// Keeps what is logged, in lines of level, message and sorted fields.
final class LogLines: Sendable {
    private let kept = Mutex<[String]>([])

    /// The lines so far.
    var all: [String] { kept.withLock { $0 } }

    /// Logs to these lines; by default every level.
    func logger(from level: Logger.Level = .trace) -> Logger {
        Logger(label: "test") { _ in Handler(lines: self, logLevel: level) }
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata = Logger.Metadata()
        var logLevel: Logger.Level

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }
            let line = (["\(event.level)", "\(event.message)"] + fields).joined(separator: " ")
            lines.kept.withLock { $0.append(line) }
        }
    }
}
