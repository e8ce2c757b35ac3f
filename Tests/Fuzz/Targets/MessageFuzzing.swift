import PusherProtocol

/// A text message: the first byte chooses who says it, the rest is the text.
enum MessageFuzzing {
    /// Limits that short inputs meet.
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
        if isClient { try hearClient(text) } else { try hearBroker(text) }
    }

    private static func hearClient(_ text: [UInt8]) throws(Finding) {
        let message: ClientMessage
        do throws(MessageError) {
            message = try ClientMessage.parse(text.span, limits: limits)
        } catch {
            return try judgeRefusal(error.description)
        }
        var written: [UInt8] = []
        message.append(to: &written)
        // What was written for a client event is longer where its data was no string; its limits have been judged.
        let again = Result { () throws(MessageError) in try ClientMessage.parse(written.span) }
        try expectEqual(again, .success(message), "written and read")
        if case .clientEvent(let event) = message { try judge(event) }
    }

    private static func judge(_ event: ClientEvent) throws(Finding) {
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
            let heard = Result { () throws(MessageError) in
                try ServerMessage.parse(envelope.span)
            }
            let sent = ReceivedEvent(
                name: event.name,
                channel: channel.text,
                data: event.data,
                userID: userID.map { _ in "A" }
            )
            try expectEqual(heard, .success(.event(sent)), "what the others hear")
        }
    }

    private static func hearBroker(_ text: [UInt8]) throws(Finding) {
        let message: ServerMessage
        do throws(MessageError) {
            message = try ServerMessage.parse(text.span)
        } catch {
            return try judgeRefusal(error.description)
        }
        let written = message.bytes
        let again = Result { () throws(MessageError) in try ServerMessage.parse(written.span) }
        try expectEqual(again, .success(message), "written and read")
    }

    /// What is said about a message fits into the answer to it.
    private static func judgeRefusal(_ description: String) throws(Finding) {
        let answer = ServerMessage.error(code: nil, message: description).bytes
        let heard = Result { () throws(MessageError) in try ServerMessage.parse(answer.span) }
        try expectEqual(heard, .success(.error(code: nil, message: description)), "the answer")
    }
}
