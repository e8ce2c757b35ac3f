import Digests
import Primitives

/// The message that carries an event to subscribers: `{"event":…,"channel":…,"data":…,"user_id":…}`.
///
/// Everything except the channel's name is written once for all channels of an event. The length is known in advance,
/// so the frame's header and the message fit in one allocation.
struct EventEnvelope: Equatable, Sendable {
    /// The message without the channel's name and the closing brace.
    private var text: [UInt8] = []
    /// The offset in `text` at which the channel's name is inserted.
    private let channelIndex: Int

    /// Begins the message of an event.
    ///
    /// - Parameters:
    ///   - name: The event's name as a JSON string, including quotes.
    ///   - memberLength: The length of the members to be added, in bytes.
    init(name: Span<UInt8>, memberLength: Int = 0) {
        text.reserveCapacity(name.count + memberLength + 48)
        text.append(#"{"event":"#)
        text.append(name)
        text.append(#","channel":""#)
        channelIndex = text.count
        text.append(UInt8(ascii: "\""))
    }

    /// Adds a member, such as `,"data":`, with its value as JSON text.
    mutating func add(_ member: StaticString, _ value: Span<UInt8>) {
        text.append(member)
        text.append(value)
    }

    /// The length of the message to the subscribers of `channel`, in bytes; `serial` is 0 if the message has no number.
    func length(for channel: ChannelName, serial: UInt64 = 0) -> Int {
        let member =
            serial == 0 ? 0 : Self.serialMember.utf8CodeUnitCount + serial.decimalDigitCount
        return text.count + channel.text.utf8.count + member + 1
    }

    private static let serialMember: StaticString = #","serial":"#

    /// Appends the message to the subscribers of `channel`; a channel's name needs no escapes.
    func append(for channel: ChannelName, serial: UInt64 = 0, to bytes: inout [UInt8]) {
        let text = text.span
        bytes.append(text.extracting(0..<channelIndex))
        bytes.append(contentsOf: channel.text.utf8)
        bytes.append(text.extracting(channelIndex..<text.count))
        if serial != 0 {
            bytes.append(Self.serialMember)
            bytes.append(decimal: serial)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// The first 64 bits of the message's SHA-256; the same in every process, because files store it.
    var digest: UInt64 { Digest.sha256(text.span).prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// The value of a member as JSON text, or empty; for logs and consoles.
    func token(of member: KeyPath<MessageMembers, JSONValue?>) -> [UInt8] {
        let message = text + [UInt8(ascii: "}")]
        let members = try? MessageMembers(message.span, depthMax: 1)
        return members?[keyPath: member]?.token(in: message.span) ?? []
    }

    /// The decoded value of a token; empty for invalid JSON.
    static func decode(_ token: [UInt8]) -> String {
        guard let value = try? JSONScanner.scan(token.span) else { return "" }
        return value.string(in: token.span)
    }
}
