internal import Logging
internal import Primitives
internal import PusherProtocol

/// Formats records as JSON lines, one object each.
///
///     {"time":"2026-11-21T09:33:23.042Z","level":"info","label":"broker","message":"listening",
///      "metadata":{"address":"127.0.0.1:6001"}}
struct JSONLogFormatter: LogFormatter {
    func append(_ record: LogRecord, to bytes: inout [UInt8]) {
        var json = JSONWriter()
        json.beginObject()
        json.name("time")
        json.string(Timestamp(record.time).text)
        json.name("level")
        json.string(record.level.rawValue)
        json.name("label")
        json.string(record.label)
        json.name("message")
        json.string(record.message)
        if !record.fields.isEmpty {
            json.name("metadata")
            json.beginObject()
            for (name, value) in record.fields {
                json.name(name)
                Self.write(value, to: &json)
            }
            json.endObject()
        }
        json.endObject()
        bytes += json.bytes
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func write(_ value: Logger.MetadataValue, to json: inout JSONWriter) {
        switch value {
        case .string(let text): json.string(text)
        case .stringConvertible(let thing): json.string("\(thing)")
        case .array(let values):
            json.beginArray()
            for value in values { write(value, to: &json) }
            json.endArray()
        case .dictionary(let fields):
            json.beginObject()
            for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
                json.name(name)
                write(value, to: &json)
            }
            json.endObject()
        }
    }
}
