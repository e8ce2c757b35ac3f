internal import Glibc
public import Logging
internal import Synchronization

/// The log of a program with event loops: logging never blocks.
///
///     let log = QueuedLog(to: STDERR_FILENO, format: .auto, level: .info)
///     let logger = log.logger(label: "broker")
///     …
///     log.finish()
///
/// A thread writes the records from a queue of 8,192. When the queue is full, records are dropped and counted; the
/// count is logged later.
public final class QueuedLog: Sendable {
    private let queue: LogQueue
    private let threshold: LogThreshold

    /// Starts a log.
    ///
    /// - Parameters:
    ///   - descriptor: The file descriptor to write to; it stays open.
    ///   - format: The format of a line; `auto` depends on whether the descriptor is a terminal.
    ///   - level: The minimum level that is written.
    public init(to descriptor: Int32, format: LogFormat, level: Logger.Level) {
        threshold = LogThreshold(level)
        let isTerminal = isatty(descriptor) == 1
        let isColored = isTerminal && getenv("NO_COLOR") == nil
        let isText = format == .text || format == .auto && isTerminal
        let formatter: any LogFormatter =
            isText ? TextLogFormatter(isColored: isColored) : JSONLogFormatter()
        queue = LogQueue(formatter: formatter) { bytes in Self.write(bytes, to: descriptor) }
    }

    /// The minimum level of all loggers without a level of their own; may be used from any thread.
    public var level: Logger.Level {
        get { threshold.level }
        set { threshold.level = newValue }
    }

    /// Creates a logger that writes to this log.
    public func logger(label: String) -> Logger {
        let (queue, threshold) = (queue, threshold)
        return Logger(label: label) {
            QueuedLogHandler(label: $0, queue: queue, threshold: threshold)
        }
    }

    /// Writes the queued records, for at most two seconds, and ends the log's thread.
    public func finish() {
        queue.flush(within: 2)
        queue.finish()
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // The descriptor may be shared with a program that made it non-blocking.
                var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&interest, 1, -1)
            } else if errno != EINTR {
                // There is nowhere to report that the log cannot be written.
                return
            }
        }
    }
}

/// The minimum level of a log, which may change at any time.
final class LogThreshold: Sendable {
    private let index: Atomic<Int>

    init(_ level: Logger.Level) { index = Atomic(Self.index(of: level)) }

    var level: Logger.Level {
        get { Logger.Level.allCases[index.load(ordering: .relaxed)] }
        set { index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}

/// The handler of swift-log; a value, so that each logger has its own level and metadata.
struct QueuedLogHandler: LogHandler {
    let label: String
    let queue: LogQueue
    private let threshold: LogThreshold
    /// The logger's own level, which overrides the log's.
    private var ownLevel: Logger.Level?
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, queue: LogQueue, threshold: LogThreshold) {
        self.label = label
        self.queue = queue
        self.threshold = threshold
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let provided = metadataProvider?.get() { fields.merge(provided) { $1 } }
        if let own = event.metadata { fields.merge(own) { $1 } }
        if let error = event.error { fields["error"] = "\(error)" }
        queue.add(
            LogRecord(
                time: .now,
                level: event.level,
                label: label,
                message: "\(event.message)",
                fields: fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            )
        )
    }
}
