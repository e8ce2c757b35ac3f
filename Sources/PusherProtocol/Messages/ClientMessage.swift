/// A message from a client to the broker.
public enum ClientMessage: Equatable, Sendable {
    /// Subscribes to a channel; with a `position` the client tracks its position in the channel's stream.
    case subscribe(
        channel: String,
        auth: String?,
        channelData: String?,
        position: PositionRequest? = nil
    )
    /// Unsubscribes from a channel.
    case unsubscribe(channel: String)
    /// Requests a `pusher:pong`.
    case ping
    /// Answers a `pusher:ping`.
    case pong
    /// Signs the user in, with the signature of the app's backend.
    case signin(auth: String, userData: String)
    /// Sends an event to the other subscribers of a channel.
    case clientEvent(ClientEvent)
    /// An event that the protocol does not define.
    case unsupported(event: String)

    /// Parses a text message; unknown members are ignored.
    ///
    /// - Parameters:
    ///   - text: The whole message.
    ///   - limits: The longest event name and data of a client event.
    /// - Returns: The message.
    /// - Throws: The text of the `pusher:error` to answer; the connection stays open.
    public static func parse(
        _ text: Span<UInt8>,
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(MessageError) -> ClientMessage {
        let members = try MessageMembers(text, depthMax: limits.depthMax)
        guard let event = members.event else { throw .missing("event") }
        guard event.kind == .string else { throw .notAString("event") }
        try MessageError.requireText(event, "event")
        if EventName.starts(event, with: "client-", in: text) {
            return .clientEvent(try clientEvent(event, members, in: text, limits))
        }
        switch true {
        case event.equals("pusher:ping", in: text): return .ping
        case event.equals("pusher:pong", in: text): return .pong
        case event.equals("pusher:subscribe", in: text):
            return try ControlData.read(members, in: text, limits) {
                (data, text) throws(MessageError) in
                let channel = try data.required(data.channel, "channel", in: text)
                return .subscribe(
                    channel: channel,
                    auth: try data.optional(data.auth, "auth", in: text),
                    channelData: try data.optional(data.channelData, "channel_data", in: text),
                    position: try data.positionRequest(of: channel, in: text)
                )
            }
        case event.equals("pusher:unsubscribe", in: text):
            return try ControlData.read(members, in: text, limits) {
                (data, text) throws(MessageError) in
                .unsubscribe(channel: try data.required(data.channel, "channel", in: text))
            }
        case event.equals("pusher:signin", in: text):
            return try ControlData.read(members, in: text, limits) {
                (data, text) throws(MessageError) in
                .signin(
                    auth: try data.required(data.auth, "auth", in: text),
                    userData: try data.required(data.userData, "user_data", in: text)
                )
            }
        default:
            guard EventName.starts(event, with: "pusher", in: text) || members.channel == nil
            else { throw .notPrefixed }
            return .unsupported(event: event.string(in: text))
        }
    }

    /// Appends the message in wire format.
    public func append(to bytes: inout [UInt8]) {
        var json = JSONWriter()
        json.beginObject()
        json.name("event")
        switch self {
        case .ping: ClientMessage.write("pusher:ping", [], to: &json)
        case .pong: ClientMessage.write("pusher:pong", [], to: &json)
        case .subscribe(let channel, let auth, let channelData, let position):
            ClientMessage.write(
                "pusher:subscribe",
                [("auth", auth), ("channel_data", channelData), ("channel", channel)],
                position,
                to: &json
            )
        case .unsubscribe(let channel):
            ClientMessage.write("pusher:unsubscribe", [("channel", channel)], to: &json)
        case .signin(let auth, let userData):
            ClientMessage.write(
                "pusher:signin",
                [("auth", auth), ("user_data", userData)],
                to: &json
            )
        case .clientEvent(let event):
            json.verbatim(event.nameToken)
            json.name("channel")
            json.string(event.channel)
            if let data = event.dataToken {
                json.name("data")
                json.verbatim(data)
            }
            if let key = event.key {
                json.name("key")
                json.string(key.text)
            }
        case .unsupported(let event): json.string(event)
        }
        json.endObject()
        bytes.append(contentsOf: json.bytes)
    }

    /// Writes the event's name and its data: an object of the members that are not `nil`.
    private static func write(
        _ event: String,
        _ members: [(String, String?)],
        _ position: PositionRequest? = nil,
        to json: inout JSONWriter
    ) {
        json.string(event)
        json.name("data")
        json.beginObject()
        for (name, value) in members {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
        position?.write(to: &json)
        json.endObject()
    }

    private static func clientEvent(
        _ event: JSONValue,
        _ members: MessageMembers,
        in text: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(MessageError) -> ClientEvent {
        do throws(EventNameError) {
            try EventName.check(event, in: text, limits: limits)
        } catch {
            throw .eventName(error)
        }
        guard let channel = members.channel, channel.kind != .null else {
            throw .missing("channel")
        }
        guard channel.kind == .string else { throw .notAString("channel") }
        try MessageError.requireText(channel, "channel")
        let data = members.data
        if let data {
            let lengthMax =
                limits.dataRules.isEmpty
                ? limits.dataLengthMax : limits.dataLength(of: channel.string(in: text)).max
            guard data.decodedLength <= lengthMax else {
                throw .dataTooLong(length: data.decodedLength, lengthMax: lengthMax)
            }
        }
        return ClientEvent(
            nameToken: event.token(in: text),
            channel: channel.string(in: text),
            dataToken: data.map {
                $0.kind == .string
                    ? $0.token(in: text) : JSONWriter.token(text.extracting($0.range))
            },
            key: try key(members, in: text)
        )
    }

    private static func key(
        _ members: MessageMembers,
        in text: Span<UInt8>
    ) throws(MessageError) -> IdempotencyKey? {
        guard let key = members.key, key.kind != .null else { return nil }
        guard key.kind == .string else { throw .notAString("key") }
        try MessageError.requireText(key, "key")
        guard let valid = IdempotencyKey(key.string(in: text)) else { throw .invalidKey }
        return valid
    }
}
