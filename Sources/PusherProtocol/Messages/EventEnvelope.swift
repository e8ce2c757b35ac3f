import Primitives

/// The message that carries an event to subscribers: `{"event":…,"channel":…,"data":…,"user_id":…}`.
///
/// All of it but the channel's name is written once, however many channels the event goes to. The length is known
/// before a byte of the message is written, so that the header of its frame comes first in one allocation.
struct EventEnvelope: Equatable, Sendable {
    /// The message without the channel's name and the brace at its end.
    private var text: [UInt8] = []
    /// Where in `text` the channel's name belongs.
    private let channelIndex: Int

    /// Begins the message of an event.
    ///
    /// - Parameters:
    ///   - name: A JSON string, quotes included.
    ///   - room: The length of the members that are to be added.
    init(name: Span<UInt8>, room: Int = 0) {
        text.reserveCapacity(name.count + room + 48)
        text.append(#"{"event":"#)
        text.append(name)
        text.append(#","channel":""#)
        channelIndex = text.count
        text.append(UInt8(ascii: "\""))
    }

    /// Adds a member, such as `,"data":` with a value that is JSON text.
    mutating func add(_ member: StaticString, _ value: Span<UInt8>) {
        text.append(member)
        text.append(value)
    }

    /// The length of the message to the subscribers of `channel`, in bytes.
    func length(for channel: ChannelName) -> Int { text.count + channel.text.utf8.count + 1 }

    /// Appends the message to the subscribers of `channel`, whose name needs no escapes.
    func append(for channel: ChannelName, to bytes: inout [UInt8]) {
        let text = text.span
        bytes.append(text.extracting(0..<channelIndex))
        bytes.append(contentsOf: channel.text.utf8)
        bytes.append(text.extracting(channelIndex..<text.count))
        bytes.append(UInt8(ascii: "}"))
    }

    /// The value of a member as JSON text, empty if there is none; for logs and consoles.
    func token(of member: KeyPath<MessageMembers, JSONValue?>) -> [UInt8] {
        let message = text + [UInt8(ascii: "}")]
        let members = try? MessageMembers(message.span, depthMax: 1)
        return members?[keyPath: member]?.token(in: message.span) ?? []
    }

    /// The value of a token; empty for one that is no JSON string.
    static func decode(_ token: [UInt8]) -> String {
        guard let value = try? JSONScanner.scan(token.span) else { return "" }
        return value.string(in: token.span)
    }
}
