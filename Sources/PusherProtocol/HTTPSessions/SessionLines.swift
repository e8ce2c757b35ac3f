import Digests
import Primitives

/// The lines that a session over HTTP consists of (SockJS protocol 0.3.3, "Framing").
///
/// All of them are ASCII: a client counts the UTF-16 code units of a response, which are then its bytes.
public enum SessionLines {
    /// The first line of a stream, so that proxies and browsers begin to deliver: 2,048 characters.
    public static let prelude = [UInt8](repeating: UInt8(ascii: "h"), count: 2_048) + [lineFeed]
    /// The session is open; sent once.
    public static let open: [UInt8] = [UInt8(ascii: "o"), lineFeed]
    /// A heartbeat; a client answers one in a stream with no messages, `[]`.
    public static let heartbeat: [UInt8] = [UInt8(ascii: "h"), lineFeed]

    /// The end of each line.
    public static let lineFeed = UInt8(ascii: "\n")

    /// Appends a line with one message.
    public static func append(_ message: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append("a[")
        appendASCII(message, to: &bytes)
        bytes.append("]\n")
    }

    /// Appends the line that says why the session has ended; it is the last one.
    public static func appendClose(code: Int, reason: String, to bytes: inout [UInt8]) {
        bytes.append("c[")
        bytes.append(decimal: code)
        bytes.append(",")
        reason.withUTF8Bytes { appendASCII($0, to: &bytes) }
        bytes.append("]\n")
    }

    /// Appends UTF-8 text as a JSON string in which each character outside ASCII is escaped.
    private static func appendASCII(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        let start = bytes.count
        JSONWriter.append(text, to: &bytes)
        guard bytes[start...].contains(where: { $0 >= 0x80 }) else { return }
        let escaped = String(decoding: bytes[start...], as: UTF8.self)
        bytes.removeSubrange(start...)
        for unit in escaped.utf16 {
            if unit < 0x80 {
                bytes.append(UInt8(unit))
            } else {
                bytes.append("\\u")
                bytes += Hex.encode([UInt8(unit >> 8), UInt8(unit & 0xFF)]).utf8
            }
        }
    }

    /// Reads the content of a send request: an array of strings, each one message.
    ///
    /// - Parameters:
    ///   - content: The content of the request.
    ///   - countMax: The most messages that one request may have.
    /// - Returns: The messages; `nil` if it is anything else.
    public static func messages(in content: Span<UInt8>, countMax: Int) -> [[UInt8]]? {
        var messages: [[UInt8]] = []
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: 2)
            try scanner.beginArray(in: content)
            while let element = try scanner.nextElement(in: content) {
                guard element.kind == .string, messages.count < countMax else { return nil }
                messages.append(element.decoded(in: content))
            }
            try scanner.finish(in: content)
        } catch {
            return nil
        }
        return messages
    }
}
