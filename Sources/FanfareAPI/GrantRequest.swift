import Primitives
import PusherProtocol

/// A client's request to an authorisation endpoint, for channels or a sign-in.
///
/// ```swift
/// let request = try GrantRequest(body)
/// let grant = try api.authorize(request.channel, for: request.socketID, as: user.id)
/// ```
public struct GrantRequest: Hashable, Sendable {
    /// The client's socket ID.
    public let socketID: String
    /// The channels to join; empty for a sign-in.
    public let channels: [String]

    /// The most channels in one request.
    public static let channelCountMax = 100

    /// Parses the content of a request: a form, as most clients send, or JSON.
    ///
    /// - Parameter body: The content.
    /// - Throws: `.invalidArgument`; answer with status 400.
    public init(_ body: some Sequence<UInt8>) throws(FanfareAPIError) {
        let bytes = Array(body)
        let first = bytes.first { !" \t\r\n".utf8.contains($0) }
        let (socketID, channels) =
            first == UInt8(ascii: "{") ? try Self.json(bytes) : Self.form(bytes)
        guard let socketID, !socketID.isEmpty else {
            throw .invalidArgument(
                "socket_id is missing: it is the connection's ID from the broker"
            )
        }
        guard channels.count <= Self.channelCountMax else {
            throw .invalidArgument(
                "\(channels.count) channels are requested, at most \(Self.channelCountMax) are allowed"
            )
        }
        self.socketID = socketID
        self.channels = channels
    }

    /// The channel of a request for one channel.
    ///
    /// - Throws: `.invalidArgument` when the request has none or several.
    public var channel: String {
        get throws(FanfareAPIError) {
            guard channels.count == 1 else {
                throw .invalidArgument(
                    channels.isEmpty
                        ? "channel_name is missing"
                        : "\(channels.count) channels are requested, and one is expected"
                )
            }
            return channels[0]
        }
    }

    private static func form(_ body: [UInt8]) -> (String?, [String]) {
        let fields = QueryParameters(parsing: body.span)
        return (fields["socket_id"], fields.values(of: "channel_name"))
    }

    private static func json(_ body: [UInt8]) throws(FanfareAPIError) -> (String?, [String]) {
        let text = body.span
        var (socketID, channels) = (String?.none, [String]())
        do throws(JSONError) {
            var scanner = JSONScanner()
            try scanner.beginObject(in: text)
            while let name = try scanner.nextName(in: text) {
                let value = try scanner.value(in: text)
                if name.equals("socket_id", in: text), value.kind == .string {
                    socketID = value.string(in: text)
                }
                if name.equals("channel_name", in: text) { channels = strings(value, in: text) }
            }
            try scanner.finish(in: text)
        } catch {
            throw .invalidArgument("the content is not a JSON object: \(error)")
        }
        return (socketID, channels)
    }

    /// Returns a string, or the strings of an array.
    private static func strings(_ value: JSONValue, in text: Span<UInt8>) -> [String] {
        if value.kind == .string { return [value.string(in: text)] }
        guard value.kind == .array else { return [] }
        var strings: [String] = []
        var scanner = JSONScanner(at: value.range.lowerBound)
        try? scanner.beginArray(in: text)
        while let element = try? scanner.nextElement(in: text) {
            if element.kind == .string { strings.append(element.string(in: text)) }
        }
        return strings
    }
}
