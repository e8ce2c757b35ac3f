internal import Logging

/// Records as JSON lines for programs, an object each.
///
///     {"time":"2026-11-21T09:33:23.042Z","level":"info","label":"broker","message":"listening",
///      "metadata":{"address":"127.0.0.1:6001"}}
struct JSONLog: LogForm {
    func append(_ record: LogRecord, to bytes: inout [UInt8]) {
        var line =
            "{\"time\":\"\(LogTime(record.time).text)\",\"level\":\"\(record.level.rawValue)\""
        line += ",\"label\":\(Self.quoted(record.label))"
        line += ",\"message\":\(Self.quoted(record.message))"
        if !record.fields.isEmpty {
            let fields = record.fields.map { "\(Self.quoted($0.name)):\(Self.value($0.value))" }
            line += ",\"metadata\":{\(fields.joined(separator: ","))}"
        }
        bytes += line.utf8
        bytes += "}\n".utf8
    }

    private static func value(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .stringConvertible(let thing): quoted("\(thing)")
        case .array(let values): "[\(values.map(Self.value).joined(separator: ","))]"
        case .dictionary(let fields):
            "{"
                + fields.sorted { $0.key < $1.key }
                .map { "\(quoted($0.key)):\(Self.value($0.value))" }
                .joined(separator: ",") + "}"
        }
    }

    /// A string of JSON (RFC 8259 §7).
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
