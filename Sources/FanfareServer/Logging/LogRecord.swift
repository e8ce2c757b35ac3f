internal import Logging

/// One thing that was logged, as it waits to be written.
struct LogRecord: Sendable {
    /// When it was logged, in nanoseconds since 1970.
    var time: Int64
    var level: Logger.Level
    /// Which part of the program speaks: the logger's label.
    var label: String
    var message: String
    /// What belongs to it, in the order of the names.
    var fields: [(name: String, value: Logger.MetadataValue)]
}

/// A form that a record can take.
protocol LogForm: Sendable {
    /// Appends a record as one line, its end included.
    func append(_ record: LogRecord, to bytes: inout [UInt8])
}
