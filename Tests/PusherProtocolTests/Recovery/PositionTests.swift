import Testing

@testable import PusherProtocol

@Suite("Positions in messages") struct PositionTests {
    private func subscribe(_ members: String) throws(MessageError) -> ClientMessage {
        let text = #"{"event":"pusher:subscribe","data":{"channel":"a"\#(members)}}"#
        return try ClientMessage.parse(Array(text.utf8).span)
    }

    @Test(
        "A subscription may carry a position",
        arguments: [
            ("", nil), (#","position":null"#, nil), (#","position":{}"#, PositionRequest()),
            (
                #","position":{"stream":"k3Jx9QmT1zA","serial":41}"#,
                PositionRequest(ChannelPosition("k3Jx9QmT1zA", 41))
            ),
            (
                #","position":{"stream":"a.b-c_d","serial":0,"socket":"1.2","other":1}"#,
                PositionRequest(ChannelPosition("a.b-c_d", 0), formerSocketID: SocketID(1, 2))
            ),
            (#","position":{},"rewind":{"count":50}"#, PositionRequest(rewind: .count(50))),
            (#","position":{},"rewind":{"seconds":9}"#, PositionRequest(rewind: .seconds(9))),
        ] as [(String, PositionRequest?)]
    )
    func subscriptions(members: String, position: PositionRequest?) throws {
        let message = try subscribe(members)
        let expected = ClientMessage.subscribe(
            channel: "a",
            auth: nil,
            channelData: nil,
            position: position
        )
        #expect(message == expected)
        var bytes: [UInt8] = []
        message.append(to: &bytes)
        #expect(try ClientMessage.parse(bytes.span) == expected)
    }

    @Test(
        "A malformed position names the member",
        arguments: [
            (#","position":1"#, PositionError.notAnObject("position")),
            (#","position":[]"#, .notAnObject("position")),
            (#","position":{"serial":1}"#, .stream),
            (#","position":{"stream":"","serial":1}"#, .stream),
            (#","position":{"stream":"a b","serial":1}"#, .stream),
            (
                #","position":{"stream":"\#(String(repeating: "a", count: 65))","serial":1}"#,
                .stream
            ),
            (#","position":{"stream":"a"}"#, .serial),
            (#","position":{"stream":"a","serial":-1}"#, .serial),
            (#","position":{"stream":"a","serial":1.5}"#, .serial),
            (#","position":{"stream":"a","serial":"1"}"#, .serial),
            (#","position":{"stream":"a","serial":9007199254740992}"#, .serial),
            (#","position":{"stream":"a","serial":1,"socket":"x"}"#, .socket),
            (#","position":{},"rewind":7"#, .notAnObject("rewind")),
            (#","position":{},"rewind":{}"#, .rewind),
            (#","position":{},"rewind":{"count":0}"#, .rewind),
            (#","position":{},"rewind":{"count":1,"seconds":1}"#, .rewind),
        ]
    )
    func malformed(members: String, error: PositionError) {
        #expect(throws: MessageError.invalidPosition(channel: "a", error)) {
            try subscribe(members)
        }
    }

    @Test(
        "An acknowledgement tells where a subscription begins",
        arguments: [
            (
                SubscriptionStart(ChannelPosition("k3Jx9QmT1zA", 44), .began),
                #"{"position":{"stream":"k3Jx9QmT1zA","serial":44}}"#
            ),
            (
                SubscriptionStart(ChannelPosition("k3Jx9QmT1zA", 41), .recovered(replay: 3)),
                #"{"position":{"stream":"k3Jx9QmT1zA","serial":41},"recovered":true,"replay":3}"#
            ),
            (
                SubscriptionStart(
                    ChannelPosition("k3Jx9QmT1zA", 300),
                    .gap(RecoveryGap(.truncated, missed: 259))
                ),
                #"{"position":{"stream":"k3Jx9QmT1zA","serial":300},"recovered":false,"#
                    + #""gap":{"reason":"truncated","missed":259}}"#
            ),
        ]
    )
    func acknowledgements(start: SubscriptionStart, data: String) {
        var json = JSONWriter()
        json.beginObject()
        start.write(to: &json)
        json.endObject()
        #expect(String(decoding: json.bytes, as: UTF8.self) == data)
        #expect(SubscriptionStart(acknowledgement: data) == start)
    }

    @Test("Other brokers tell no position", arguments: ["{}", "", "[]", #"{"position":7}"#])
    func otherBrokers(data: String) { #expect(SubscriptionStart(acknowledgement: data) == nil) }

    @Test("Events and positions carry serials")
    func serials() throws {
        let event = #"{"event":"e","channel":"a","data":"1","serial":42}"#
        let parsed = try ServerMessage.parse(Array(event.utf8).span)
        let expected = ReceivedEvent(name: "e", channel: "a", data: "1", serial: 42)
        #expect(parsed == .event(expected))
        #expect(String(decoding: parsed.bytes, as: UTF8.self) == event)
        for key in [nil, "k"] {
            let message = ServerMessage.position(channel: "a", serial: 43, key: key)
            #expect(try ServerMessage.parse(message.bytes.span) == message)
        }
    }

    @Test("Stream IDs of 64 bits are different texts of eleven characters")
    func streamIDs() {
        let bits: [UInt64] = [0, 1, .max, 1 << 63, 0x0123_4567_89AB_CDEF]
        let ids = bits.map(StreamID.init(bits:))
        #expect(Set(ids).count == bits.count)
        for id in ids { #expect(id.text.count == 11 && StreamID(id.text) == id) }
    }
}

extension ChannelPosition {
    fileprivate init(_ stream: String, _ serial: UInt64) {
        guard let stream = StreamID(stream) else { preconditionFailure("not a stream ID") }
        self.init(stream: stream, serial: serial)
    }
}
