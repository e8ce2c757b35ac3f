import Primitives

/// The members of an event in a request, as ranges of its text, before validation.
struct EventFields {
    private var name: JSONValue?
    private var data: JSONValue?
    private var channel: JSONValue?
    private var channels: JSONValue?
    private var socketID: JSONValue?
    private var info: JSONValue?
    private var key: JSONValue?
    private var ifPosition: JSONValue?
    private var ephemeral: JSONValue?
    private var durable: JSONValue?
    /// Whether the event is one of a batch, which has a single channel.
    private let isInBatch: Bool

    init(isInBatch: Bool = false) {
        self.isInBatch = isInBatch
    }

    /// Stores one member; `null` counts as absent, unknown members are ignored, the last of equal names wins.
    mutating func set(_ name: JSONValue, _ value: JSONValue, in text: Span<UInt8>) {
        let value = value.kind == .null ? nil : value
        if name.equals("name", in: text) {
            self.name = value
        } else if name.equals("data", in: text) {
            data = value
        } else if name.equals("channels", in: text) {
            channels = value
        } else if name.equals("channel", in: text) {
            channel = value
        } else if name.equals("socket_id", in: text) {
            socketID = value
        } else if name.equals("info", in: text) {
            info = value
        } else if name.equals("idempotency_key", in: text) {
            key = value
        } else if name.equals("if_position", in: text) {
            ifPosition = value
        } else if name.equals("ephemeral", in: text) {
            ephemeral = value
        } else if name.equals("durable", in: text) {
            durable = value
        }
    }

    /// Validates the members and copies what is published.
    func publication(
        in text: Span<UInt8>,
        limits: ProtocolLimits
    ) throws(APIError) -> Publication {
        let publication = Publication(
            try envelope(in: text, limits),
            channels: try channelNames(in: text, limits),
            except: try excludedSocket(in: text),
            info: try attributes(in: text),
            key: try idempotencyKey(in: text),
            ifPosition: try expectedPosition(in: text),
            isEphemeral: try boolean(ephemeral, "ephemeral"),
            isDurable: try boolean(durable, "durable")
        )
        if !limits.dataRules.isEmpty {
            for channel in publication.channels {
                _ = try checkedData(limits.dataLength(of: channel.text))
            }
        }
        guard publication.ifPosition == nil || publication.channels.count == 1 else {
            throw .badRequest(
                "if_position needs a single channel (\(publication.channels.count) are given)"
            )
        }
        guard !publication.isEphemeral || !publication.isDurable else {
            throw .badRequest("An ephemeral event is not stored: leave out ephemeral or durable")
        }
        guard !publication.isEphemeral || !publication.needsPosition else {
            throw .badRequest(
                "An ephemeral event has no position: leave out "
                    + (publication.ifPosition == nil ? "info=position" : "if_position")
            )
        }
        return publication
    }

    /// Returns the elements of an array that has been validated.
    static func elements(of array: JSONValue, in text: Span<UInt8>) -> [JSONValue] {
        var elements: [JSONValue] = []
        var scanner = JSONScanner(at: array.range.lowerBound, depthMax: .max)
        try? scanner.beginArray(in: text)
        while let element = try? scanner.nextElement(in: text) { elements.append(element) }
        return elements
    }

    private func envelope(
        in text: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(APIError) -> EventEnvelope {
        let name = try checkedName(in: text, limits)
        let data = try checkedData(limits.longestData)
        var envelope = EventEnvelope(
            name: text.extracting(name.range),
            memberLength: data.range.count
        )
        if data.kind == .string {
            envelope.add(#","data":"#, text.extracting(data.range))
        } else {
            envelope.add(#","data":"#, JSONWriter.token(text.extracting(data.range)).span)
        }
        return envelope
    }

    private func checkedName(
        in text: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(APIError) -> JSONValue {
        guard let name else { throw .missing("name") }
        guard name.kind == .string else { throw .badRequest("name must be a string") }
        do throws(EventNameError) {
            try EventName.check(name, in: text, limits: limits)
        } catch {
            throw .badRequest("Invalid event name: \(error)")
        }
        guard !EventName.isReserved(name, in: text) else {
            throw .badRequest(
                "Invalid event name: names that begin with pusher: or pusher_internal: "
                    + "are reserved to the server"
            )
        }
        return name
    }

    private func checkedData(_ limit: DataLengthLimit) throws(APIError) -> JSONValue {
        guard let data else { throw .missing("data") }
        guard data.decodedLength <= limit.max else {
            throw APIError(
                status: 413,
                message: "The data content of this event exceeds the allowed maximum "
                    + "(\(limit.max) bytes). "
                    + "See https://pusher.com/docs/channels/server_api/http-api/ "
                    + "- this event has \(data.decodedLength) bytes; "
                    + "the limit is apps.N.\(limit.key) in the broker's configuration",
                limit: .eventDataLength
            )
        }
        return data
    }

    private func channelNames(
        in text: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(APIError) -> [ChannelName] {
        if let channels, !isInBatch, channels.kind == .array {
            let elements = EventFields.elements(of: channels, in: text)
            guard elements.count <= limits.channelsPerTriggerMax else {
                throw .badRequest(
                    "Too many channels (\(elements.count) > \(limits.channelsPerTriggerMax))",
                    limit: .triggerChannels
                )
            }
            guard !elements.isEmpty else { throw .missing("channel") }
            return try unique(elements, in: text, limits)
        }
        if let channels, !isInBatch, channels.kind == .object {
            throw .badRequest(
                "channels must be an array of names, not an object; array_values() makes one in PHP"
            )
        }
        guard let single = isInBatch ? channel : channels ?? channel else {
            throw .missing("channel")
        }
        return [try channelName(single, in: text, limits)]
    }

    private func unique(
        _ elements: [JSONValue],
        in text: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(APIError) -> [ChannelName] {
        var names: [ChannelName] = []
        names.reserveCapacity(elements.count)
        var seen: Set<ChannelName> = []
        for element in elements {
            let name = try channelName(element, in: text, limits)
            if elements.count == 1 || seen.insert(name).inserted { names.append(name) }
        }
        return names
    }

    private func channelName(
        _ value: JSONValue,
        in text: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(APIError) -> ChannelName {
        guard value.kind == .string else { throw .badRequest("A channel must be a string") }
        guard !value.hasLoneSurrogate else {
            throw .badRequest("Invalid channel name: it contains half a surrogate pair")
        }
        do throws(ChannelNameError) {
            // Slow path: few clients escape a character that the grammar allows.
            guard !value.hasEscapes else {
                return try ChannelName(validating: value.decoded(in: text).span, limits: limits)
            }
            return try ChannelName(validating: text.extracting(value.content), limits: limits)
        } catch {
            throw .badRequest(
                "Invalid channel name: \(APIError.quote(value.string(in: text))) (\(error))"
            )
        }
    }

    private func excludedSocket(in text: Span<UInt8>) throws(APIError) -> SocketID? {
        guard let socketID else { return nil }
        let decoded = socketID.decoded(in: text)
        guard socketID.kind == .string, SocketID.isWellFormed(decoded.span) else {
            let shown = APIError.quote(socketID.string(in: text), lengthMax: 64)
            throw .badRequest(
                "Invalid socket_id: \(shown) (expected digits, a dot and digits in a string)"
            )
        }
        // A well-formed ID that this broker never assigns excludes no connection.
        return SocketID(parsing: decoded.span)
    }

    private func idempotencyKey(in text: Span<UInt8>) throws(APIError) -> IdempotencyKey? {
        guard let key else { return nil }
        guard !key.hasLoneSurrogate else {
            throw .badRequest("idempotency_key must not contain half a surrogate pair")
        }
        guard key.kind == .string, let valid = IdempotencyKey(key.string(in: text)) else {
            throw .invalidIdempotencyKey
        }
        return valid
    }

    private func expectedPosition(in text: Span<UInt8>) throws(APIError) -> ChannelPosition? {
        guard let ifPosition else { return nil }
        guard let position = ChannelPosition(ifPosition, in: text) else {
            throw .badRequest(
                "if_position must be an object with the stream and the serial of a position"
            )
        }
        return position
    }

    private func boolean(_ member: JSONValue?, _ name: String) throws(APIError) -> Bool {
        guard let member else { return false }
        guard case .boolean(let value) = member.kind else {
            throw .badRequest("\(name) must be true or false")
        }
        return value
    }

    private func attributes(in text: Span<UInt8>) throws(APIError) -> InfoAttributes {
        guard let info else { return [] }
        switch info.kind {
        case .string: return try InfoAttributes(info.string(in: text))
        case .array:
            var attributes: InfoAttributes = []
            for element in EventFields.elements(of: info, in: text) {
                guard element.kind == .string else { throw EventFields.malformedInfo }
                attributes.formUnion(try InfoAttributes(element.string(in: text)))
            }
            return attributes
        default: throw EventFields.malformedInfo
        }
    }

    private static var malformedInfo: APIError {
        .badRequest("info must be a string of attributes separated by commas")
    }
}
