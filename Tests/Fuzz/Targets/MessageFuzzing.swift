import PusherProtocol

/// A text message: the first byte chooses the sender, the rest is the text.
enum MessageFuzzing {
    /// Limits that short inputs reach.
    private static let limits = {
        var limits = ProtocolLimits()
        limits.eventNameLengthMax = 20
        limits.dataLengthMax = 40
        limits.depthMax = 6
        return limits
    }()

    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let isClient = choices.bool()
        let text = choices.remainder()
        if isClient { try parseClientMessage(text) } else { try parseBrokerMessage(text) }
    }

    private static func parseClientMessage(_ text: [UInt8]) throws(Finding) {
        let message: ClientMessage
        do throws(MessageError) {
            message = try ClientMessage.parse(text.span, limits: limits)
        } catch {
            return try validateError(error.description)
        }
        var written: [UInt8] = []
        message.append(to: &written)
        // Written client events are longer if their data was no string, so they are parsed without limits.
        let again = Result { () throws(MessageError) in try ClientMessage.parse(written.span) }
        try expectEqual(again, .success(message), "written and read")
        if case .clientEvent(let event) = message { try validate(event) }
    }

    private static func validate(_ event: ClientEvent) throws(Finding) {
        try expect(event.name.utf8.starts(with: "client-".utf8), "the client event \(event.name)")
        let length = event.name.unicodeScalars.count
        try expect(length <= limits.eventNameLengthMax, "a name of \(length) characters")
        let dataLength = event.data?.utf8.count ?? 0
        try expect(dataLength <= limits.dataLengthMax, "data of \(dataLength) bytes")
        guard let channel = try? ChannelName(event.channel) else { return }
        for userID in [nil, Array(#""\u0041""#.utf8)] {
            var envelope: [UInt8] = []
            event.appendEnvelope(for: channel, userID: userID, to: &envelope)
            let announced = event.envelopeLength(for: channel, userID: userID)
            try expectEqual(envelope.count, announced, "the length of the envelope")
            let received = Result { () throws(MessageError) in
                try ServerMessage.parse(envelope.span)
            }
            var sent = ReceivedEvent(
                name: event.name,
                channel: channel.text,
                data: event.data,
                userID: userID.map { _ in "A" }
            )
            sent.dataToken = event.dataToken.flatMap(loneSurrogateToken)
            try expectEqual(received, .success(.event(sent)), "the event of the other clients")
        }
    }

    /// Returns a JSON string if it has half of a surrogate pair.
    static func loneSurrogateToken(_ token: [UInt8]) -> [UInt8]? {
        (try? JSONScanner.scan(token.span))?.hasLoneSurrogate == true ? token : nil
    }

    private static func parseBrokerMessage(_ text: [UInt8]) throws(Finding) {
        let message: ServerMessage
        do throws(MessageError) {
            message = try ServerMessage.parse(text.span)
        } catch {
            return try validateError(error.description)
        }
        let written = message.bytes
        let again = Result { () throws(MessageError) in try ServerMessage.parse(written.span) }
        try expectEqual(again, .success(message), "written and read")
    }

    /// Checks that the description of an error fits into the answer.
    private static func validateError(_ description: String) throws(Finding) {
        let answer = ServerMessage.error(code: nil, message: description).bytes
        let received = Result { () throws(MessageError) in try ServerMessage.parse(answer.span) }
        try expectEqual(received, .success(.error(code: nil, message: description)), "the answer")
    }
}
