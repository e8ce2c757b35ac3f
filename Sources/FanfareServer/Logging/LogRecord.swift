internal import Logging

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
