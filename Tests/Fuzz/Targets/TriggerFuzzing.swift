import PusherProtocol

/// Requests of backends: the first byte chooses the form of the rest: a body, a batch, a query or a name.
enum TriggerFuzzing {
    /// Limits that short inputs reach.
    private static let limits = {
        var limits = ProtocolLimits()
        limits.eventNameLengthMax = 20
        limits.channelNameLengthMax = 40
        limits.userIDLengthMax = 8
        limits.dataLengthMax = 40
        limits.channelsPerTriggerMax = 3
        limits.eventsPerBatchMax = 2
        limits.depthMax = 6
        return limits
    }()

    private static let nothing: [UInt8] = []

    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let kind = choices.index(below: 4)
        let rest = choices.remainder()
        switch kind {
        case 0:
            let event = Result { () throws(APIError) in
                try TriggerRequest.parse(rest.span, limits: limits)
            }
            try validate(event.map { [$0] })
        case 1:
            let events = Result { () throws(APIError) in
                try TriggerRequest.parseBatch(rest.span, limits: limits)
            }
            if case .success(let events) = events {
                try expect(events.count <= limits.eventsPerBatchMax, "\(events.count) events")
            }
            try validate(events)
        case 2: try query(rest)
        default: try name(rest)
        }
    }

    private static func validate(_ result: Result<[Publication], APIError>) throws(Finding) {
        switch result {
        case .failure(let error):
            try expect([400, 413].contains(error.status), "\(error)")
            try expect(!error.message.isEmpty, "no reason for \(error.status)")
        case .success(let publications): for event in publications { try validate(event) }
        }
    }

    private static func validate(_ event: Publication) throws(Finding) {
        let names = event.channels.map(\.text)
        try expect((1...limits.channelsPerTriggerMax).contains(names.count), "\(names)")
        try expect(Set(names).count == names.count, "a channel twice in \(names)")
        try expect(event.data.utf8.count <= limits.dataLengthMax, "data of \(event.data)")
        let length = event.name.unicodeScalars.count
        try expect((1...limits.eventNameLengthMax).contains(length), "the name \(event.name)")
        for prefix in ["pusher:", "pusher_internal:"] {
            try expect(!event.name.hasPrefix(prefix), "\(event.name) is reserved")
        }
        for channel in event.channels {
            var envelope: [UInt8] = []
            event.appendEnvelope(for: channel, to: &envelope)
            let announced = event.envelopeLength(for: channel)
            try expectEqual(envelope.count, announced, "the length of the envelope")
            let received = Result { () throws(MessageError) in
                try ServerMessage.parse(envelope.span)
            }
            var sent = ReceivedEvent(name: event.name, channel: channel.text, data: event.data)
            sent.dataToken = MessageFuzzing.loneSurrogateToken(event.dataToken)
            try expectEqual(received, .success(.event(sent)), "the event of subscribers")
        }
    }

    /// A query, compared with a naive parser, and the values read from it.
    private static func query(_ bytes: [UInt8]) throws(Finding) {
        let parameters = QueryParameters(parsing: bytes.span)
        var naive: [(name: [UInt8], value: [UInt8])] = []
        for part in bytes.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = decoded(part[..<equals]).map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
            naive.append((name, decoded(part[equals...].dropFirst())))
        }
        let signed = naive.filter { $0.name != Array("auth_signature".utf8) }
        let names = signed.map { $0.name }.sorted { $0.lexicographicallyPrecedes($1) }
        try expectEqual(
            parameters.names,
            names.map { String(decoding: $0, as: UTF8.self) },
            "the names"
        )
        for (name, _) in signed {
            guard let text = String(validating: name, as: UTF8.self), !text.contains("[") else {
                continue
            }
            let expected = signed.filter { $0.name == name }
                .map { String(decoding: $0.value, as: UTF8.self) }
            let found = parameters.values(of: text)
            try expect(expected.allSatisfy(found.contains), "\(text): \(found), not \(expected)")
        }
        let event = Result { () throws(APIError) in
            try TriggerRequest.parse(nothing.span, parameters: parameters, limits: limits)
        }
        try validate(event.map { [$0] })
        _ = try? ChannelsQuery(parameters, countsSubscriptions: true, limits: limits)
        _ = try? ChannelQuery(parameters, kind: .presenceCache, countsSubscriptions: true)
        _ = try? ConnectionURL.version(inTarget: (Array("/app/key?".utf8) + bytes).span)
        try signature(parameters, of: signed)
    }

    /// A signed query is accepted, and any other is not.
    private static func signature(
        _ received: QueryParameters,
        of pairs: [(name: [UInt8], value: [UInt8])]
    ) throws(Finding) {
        let secret = AppSecret("secret")
        let now: Int64 = 1_700_000_000
        func verify(_ parameters: QueryParameters) -> Bool {
            let check = Result { () throws(APIError) in
                try RequestSignature.verify(
                    method: "GET",
                    path: Array("/apps/1/channels".utf8).span,
                    parameters: parameters,
                    body: nothing.span,
                    now: now,
                    owner: { _ in .app(secret) }
                )
            }
            return if case .success = check { true } else { false }
        }
        try expect(!verify(received), "a signature was guessed")
        let own: [(name: String, value: String)] = pairs.compactMap { pair in
            guard let name = String(validating: pair.name, as: UTF8.self),
                let value = String(validating: pair.value, as: UTF8.self),
                !name.hasPrefix("auth_"), name != "body_md5"
            else { return nil }
            return (name, value)
        }
        let query = RequestSignature.sign(
            method: "GET",
            path: "/apps/1/channels",
            parameters: own,
            body: nothing.span,
            key: "key",
            secret: secret,
            timestamp: now
        )
        try expect(verify(QueryParameters(query)), "the signed query \(query) is refused")
    }

    /// Percent-decodes a text naively; a `%` without two digits stands for itself.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var rest = bytes
        var result: [UInt8] = []
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            let isHex = digits.count == 2 && digits.allSatisfy(isHexDigit)
            if byte == UInt8(ascii: "%"), isHex,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        "0123456789abcdefABCDEF".utf8.contains(byte)
    }

    /// The name of a channel, a user or a connection.
    private static func name(_ bytes: [UInt8]) throws(Finding) {
        let allowed = Set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=@,.;".utf8
        )
        let prefix = Array("#server-to-user-".utf8)
        let isPlain = !bytes.isEmpty && bytes.allSatisfy(allowed.contains)
        let userID = bytes.starts(with: prefix) ? Array(bytes.dropFirst(prefix.count)) : nil
        let isUser =
            userID.map { (1...8).contains($0.count) && $0.allSatisfy(allowed.contains) } ?? false
        let isValid = bytes.count <= limits.channelNameLengthMax && (isPlain || isUser)
        let channel = try? ChannelName(validating: bytes.span, limits: limits)
        try expectEqual(channel != nil, isValid, "a valid channel")
        if let channel {
            let text = String(decoding: bytes, as: UTF8.self)
            try expectEqual(channel.text, text, "the name")
            try expectEqual(channel.kind == .serverToUser, isUser, "a user's channel")
            try expectEqual(channel.kind.isPresence, text.hasPrefix("presence-"), "presence")
            let isPrivate = text.hasPrefix("private-") || text.hasPrefix("presence-")
            try expectEqual(channel.kind.requiresSignature, isPrivate, "a signature")
            let isCache = ["", "private-", "private-encrypted-", "presence-"]
                .contains { text.hasPrefix($0 + "cache-") }
            try expectEqual(channel.kind.isCache, isCache, "a cache")
        }
        if let socketID = SocketID(parsing: bytes.span) {
            try expect(SocketID.isWellFormed(bytes.span), "\(socketID) is not well formed")
            try expectEqual(Array(socketID.description.utf8), bytes, "the socket ID")
        }
    }
}
