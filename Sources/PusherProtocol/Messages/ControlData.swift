import Primitives

/// The data of a client's control event: the ranges of the members that the protocol defines.
struct ControlData {
    private(set) var channel: JSONValue?
    private(set) var auth: JSONValue?
    private(set) var channelData: JSONValue?
    private(set) var userData: JSONValue?
    private(set) var position: JSONValue?
    private(set) var rewind: JSONValue?

    /// Calls `body` with the data of a message, an object or a string that holds one; absent data has no members.
    static func read(
        _ message: MessageMembers,
        in text: Span<UInt8>,
        _ limits: ProtocolLimits,
        _ body: (ControlData, _ text: Span<UInt8>) throws(MessageError) -> ClientMessage
    ) throws(MessageError) -> ClientMessage {
        guard let data = message.data, data.kind != .null else {
            return try body(ControlData(), text)
        }
        guard data.kind == .string else {
            let object = text.extracting(data.range)
            return try body(ControlData(object, depthMax: limits.depthMax), object)
        }
        try MessageError.requireText(data, "data")
        let object = data.decoded(in: text)
        return try body(ControlData(object.span, depthMax: limits.depthMax), object.span)
    }

    private init() {}

    private init(_ text: Span<UInt8>, depthMax: Int) throws(MessageError) {
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: depthMax)
            try scanner.beginObject(in: text)
            while let name = try scanner.nextName(in: text) {
                let value = try scanner.value(in: text)
                if name.equals("channel", in: text) { channel = value }
                if name.equals("auth", in: text) { auth = value }
                if name.equals("channel_data", in: text) { channelData = value }
                if name.equals("user_data", in: text) { userData = value }
                if name.equals("position", in: text) { position = value }
                if name.equals("rewind", in: text) { rewind = value }
            }
            try scanner.finish(in: text)
        } catch {
            throw .notAnObject
        }
    }

    /// Returns the position that a subscription requests, or `nil` when it requests none.
    func positionRequest(
        of channel: String,
        in text: Span<UInt8>
    ) throws(MessageError) -> PositionRequest? {
        guard position != nil || rewind != nil else { return nil }
        do throws(PositionError) {
            return try PositionRequest.read(position: position, rewind: rewind, in: text)
        } catch {
            throw .invalidPosition(channel: channel, error)
        }
    }

    /// Returns a string; throws when it is absent.
    func required(
        _ value: JSONValue?,
        _ name: StaticString,
        in text: Span<UInt8>
    ) throws(MessageError) -> String {
        guard let string = try optional(value, name, in: text) else {
            throw .missing(name.description)
        }
        return string
    }

    /// Returns a string, or `nil` when it is absent or `null`.
    func optional(
        _ value: JSONValue?,
        _ name: StaticString,
        in text: Span<UInt8>
    ) throws(MessageError) -> String? {
        guard let value, value.kind != .null else { return nil }
        guard value.kind == .string else { throw .notAString(name.description) }
        try MessageError.requireText(value, name)
        return value.string(in: text)
    }
}
