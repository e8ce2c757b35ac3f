/// The message that carries an event to subscribers: `{"event":…,"channel":…,"data":…,"user_id":…}`.
///
/// The length is known before a byte is written, so that the header of the frame comes first in one allocation.
enum EventEnvelope {
    /// The length of the message, in bytes.
    static func length(
        name: [UInt8],
        channel: String,
        data: [UInt8]?,
        userID: [UInt8]?
    ) -> Int {
        var length = #"{"event":,"channel":""}"#.utf8.count + name.count + channel.utf8.count
        if let data { length += #","data":"#.utf8.count + data.count }
        if let userID { length += #","user_id":"#.utf8.count + userID.count }
        return length
    }

    /// Appends the message.
    ///
    /// - Parameters:
    ///   - name: A JSON string, quotes included.
    ///   - channel: A name that follows the grammar and so needs no escapes.
    ///   - data: A JSON string, quotes included; `nil` leaves the member out.
    ///   - userID: A JSON string, quotes included; `nil` leaves the member out.
    ///   - bytes: What it is appended to.
    static func append(
        name: [UInt8],
        channel: String,
        data: [UInt8]?,
        userID: [UInt8]?,
        to bytes: inout [UInt8]
    ) {
        bytes.append(#"{"event":"#)
        bytes.append(contentsOf: name)
        bytes.append(#","channel":""#)
        bytes.append(contentsOf: channel.utf8)
        bytes.append("\"")
        if let data {
            bytes.append(#","data":"#)
            bytes.append(contentsOf: data)
        }
        if let userID {
            bytes.append(#","user_id":"#)
            bytes.append(contentsOf: userID)
        }
        bytes.append("}")
    }

    /// The value of a token; empty for one that is no JSON string.
    static func decode(_ token: [UInt8]) -> String {
        guard let value = try? JSONScanner.scan(token.span) else { return "" }
        return value.string(in: token.span)
    }
}
