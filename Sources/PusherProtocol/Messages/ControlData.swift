/// The data of a client's control event: the ranges of the members that the protocol defines.
struct ControlData {
    private(set) var channel: JSONValue?
    private(set) var auth: JSONValue?
    private(set) var channelData: JSONValue?
    private(set) var userData: JSONValue?

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
            }
            try scanner.finish(in: text)
        } catch {
            throw .notAnObject
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
        return value.string(in: text)
    }
}
