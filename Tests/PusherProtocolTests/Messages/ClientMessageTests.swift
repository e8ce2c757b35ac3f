import PusherProtocol
import Testing

@Suite("Messages from clients") struct ClientMessageTests {
    static func parse(_ message: String) throws(MessageError) -> ClientMessage {
        try ClientMessage.parse(bytes(message).span)
    }

    static let messages: [(String, ClientMessage)] = [
        (#"{"event":"pusher:ping","data":{}}"#, .ping), (#"{"event": "pusher:ping"}"#, .ping),
        (#"{"event":"pusher:pong","data":{}}"#, .pong),
        (#"{"event":"pusher:ping","data":null}"#, .ping),
        (
            #"{"event":"pusher:subscribe","data":{"auth":"","channel":"x"}}"#,
            .subscribe(channel: "x", auth: "", channelData: nil)
        ),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"x","filter":{"a":1}},"more":1}"#,
            .subscribe(channel: "x", auth: nil, channelData: nil)
        ),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"x","auth":null,"channel_data":null}}"#,
            .subscribe(channel: "x", auth: nil, channelData: nil)
        ),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"presence-room","auth":"KEY:sig","#
                + #""channel_data":"{\"user_id\": \"u-\\u017c\"}"}}"#,
            .subscribe(
                channel: "presence-room",
                auth: "KEY:sig",
                channelData: #"{"user_id": "u-\u017c"}"#
            )
        ),
        (
            #"{"event":"pusher:subscribe","data":"{\"channel\":\"x\"}"}"#,
            .subscribe(channel: "x", auth: nil, channelData: nil)
        ),
        (
            #"{"event":"pusher:unsubscribe","data":{"channel":"private-x"}}"#,
            .unsubscribe(channel: "private-x")
        ),
        (
            #"{"event":"pusher:signin","data":{"auth":"k:s","user_data":"{\"id\":\"1\"}"}}"#,
            .signin(auth: "k:s", userData: #"{"id":"1"}"#)
        ),
        (#"{"event":"pusher:nonsense","channel":"x"}"#, .unsupported(event: "pusher:nonsense")),
        (#"{"event":"foo"}"#, .unsupported(event: "foo")),
        (#"{"event":""}"#, .unsupported(event: "")),
        (
            #"{"event":"client-typing","channel":"private-chat","data":{"who": 9007199254740993}}"#,
            .clientEvent(
                ClientEvent(
                    nameToken: bytes(#""client-typing""#),
                    channel: "private-chat",
                    dataToken: bytes(#""{\"who\": 9007199254740993}""#)
                )
            )
        ),
        (
            #"{"event":"client-x","channel":"c","data":"a\/b"}"#,
            .clientEvent(
                ClientEvent(
                    nameToken: bytes(#""client-x""#),
                    channel: "c",
                    dataToken: bytes(#""a\/b""#)
                )
            )
        ),
        (
            #"{"event":"client-x","channel":"c","user_id":"forged"}"#,
            .clientEvent(
                ClientEvent(nameToken: bytes(#""client-x""#), channel: "c", dataToken: nil)
            )
        ),
    ]

    @Test(arguments: messages)
    func reads(message: String, expected: ClientMessage) throws {
        #expect(try Self.parse(message) == expected)
    }

    static let refusals: [(String, MessageError)] = [
        ("", .json(.unexpectedEnd)), ("{", .json(.unexpectedEnd)), ("[]", .notAnObject),
        ("1", .notAnObject), ("{}", .missing("event")), (#"{"event":1}"#, .notAString("event")),
        (#"{"event":null}"#, .notAString("event")),
        (#"{"event":"pusher:subscribe"}"#, .missing("channel")),
        (#"{"event":"pusher:subscribe","data":{}}"#, .missing("channel")),
        (#"{"event":"pusher:subscribe","data":{"channel":1}}"#, .notAString("channel")),
        (#"{"event":"pusher:subscribe","data":[]}"#, .notAnObject),
        (#"{"event":"pusher:subscribe","data":"x"}"#, .notAnObject),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"x","auth":1}}"#, .notAString("auth")
        ),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"x","channel_data":{}}}"#,
            .notAString("channel_data")
        ),
        (#"{"event":"pusher:unsubscribe","data":{}}"#, .missing("channel")),
        (#"{"event":"pusher:signin","data":{"auth":"x"}}"#, .missing("user_data")),
        (#"{"event":"pusher:signin","data":{"user_data":"x"}}"#, .missing("auth")),
        (#"{"event":"typing","channel":"private-x"}"#, .notPrefixed),
        (#"{"event":"client-x"}"#, .missing("channel")),
        (#"{"event":"client-x","channel":1}"#, .notAString("channel")),
        (#"{"event":"client-\ud83d","channel":"a"}"#, .loneSurrogate("event")),
        (#"{"event":"client-x","channel":"\ud83d"}"#, .loneSurrogate("channel")),
        (#"{"event":"client-x","channel":"a","key":"\ude00"}"#, .loneSurrogate("key")),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"x","channel_data":"\ud83d"}}"#,
            .loneSurrogate("channel_data")
        ),
        (
            #"{"event":"pusher:subscribe","data":"{\"channel\":\"\ud83d\"}"}"#,
            .loneSurrogate("data")
        ),
    ]

    @Test(arguments: refusals)
    func refuses(message: String, error: MessageError) {
        #expect(throws: error) { try Self.parse(message) }
        #expect(!error.description.isEmpty)
    }

    @Test func boundsClientEvents() {
        let name = String(repeating: "n", count: 194)
        #expect(
            throws: MessageError.eventName(.tooLong(length: 201, lengthMax: 200))
        ) { try Self.parse("{\"event\":\"client-\(name)\",\"channel\":\"c\"}") }
        let data = String(repeating: "x", count: 10_241)
        #expect(throws: MessageError.dataTooLong(length: 10_241, lengthMax: 10_240)) {
            try Self.parse("{\"event\":\"client-x\",\"channel\":\"c\",\"data\":\"\(data)\"}")
        }
        #expect(throws: MessageError.self) {
            try Self.parse(
                "{\"event\":\"pusher:ping\",\"data\":\(String(repeating: "[", count: 9_000))"
            )
        }
    }

    @Test func writesWhatItReads() throws {
        for (message, expected) in Self.messages {
            var written: [UInt8] = []
            expected.append(to: &written)
            #expect(try ClientMessage.parse(written.span) == expected, "\(message)")
        }
        var subscription: [UInt8] = []
        ClientMessage.subscribe(channel: "x", auth: "", channelData: nil).append(to: &subscription)
        #expect(
            text(subscription) == #"{"event":"pusher:subscribe","data":{"auth":"","channel":"x"}}"#
        )
    }

    @Test func forwardsClientEvents() throws {
        let channel = try ChannelName("presence-room")
        guard
            case .clientEvent(let event) = try Self.parse(
                #"{"event":"client-t","channel":"presence-room","data":{"a":1},"user_id":"forged"}"#
            )
        else {
            Issue.record("not a client event")
            return
        }
        #expect(event.name == "client-t")
        #expect(event.data == #"{"a":1}"#)
        var envelope: [UInt8] = []
        let userID = JSONWriter.token("u\"1")
        event.appendEnvelope(for: channel, userID: userID, to: &envelope)
        #expect(
            text(envelope) == #"{"event":"client-t","channel":"presence-room","#
                + #""data":"{\"a\":1}","user_id":"u\"1"}"#
        )
        #expect(event.envelopeLength(for: channel, userID: userID) == envelope.count)
        let bare = ClientEvent(nameToken: bytes(#""client-t""#), channel: "c", dataToken: nil)
        envelope = []
        bare.appendEnvelope(for: channel, to: &envelope)
        #expect(text(envelope) == #"{"event":"client-t","channel":"presence-room"}"#)
        #expect(bare.envelopeLength(for: channel) == envelope.count)
        #expect(bare.data == nil)
    }
}
