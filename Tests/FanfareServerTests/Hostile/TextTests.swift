import Testing

@testable import FanfareServer

extension HostileTests {
    @Suite("Lone surrogates, NUL bytes and other invalid texts") struct TextTests {
        private static func subscribe(_ name: String) -> String {
            #"{"event":"pusher:subscribe","data":{"channel":"\#(name)"}}"#
        }

        private static let surrogates: [HostileFrames] = [
            HostileFrames(
                subscribe(#"\ud800"#),
                .error("'channel' must not contain half a surrogate pair")
            ),
            HostileFrames(subscribe(#"\udc00"#), .error("half a surrogate pair")),
            HostileFrames(subscribe(#"\ud800\ud800"#), .error("half a surrogate pair")),
            HostileFrames(subscribe(#"\udc00\ud800"#), .error("half a surrogate pair")),
            HostileFrames(subscribe(#"\ud800x"#), .error("half a surrogate pair")),
            HostileFrames(subscribe(#"\ud800\u"#), .error("malformed escape")),
            HostileFrames(#"{"event":"client-\ud83d","channel":"private-a"}"#, .error("surrogate")),
            HostileFrames(
                #"{"event":"\uDFFF"}"#,
                .error("'event' must not contain half a surrogate pair")
            ),
            HostileFrames(
                #"{"event":"client-e","channel":"private-\ud83d"}"#,
                .error("half a surrogate pair")
            ),
            HostileFrames(
                #"{"event":"client-e","channel":"private-a","key":"\ud83d"}"#,
                .error("half a surrogate pair")
            ),
            HostileFrames(
                #"{"event":"pusher:signin","data":{"auth":"a","user_data":"\ud83d"}}"#,
                .error("half a surrogate pair")
            ),
            HostileFrames(
                #"{"event":"pusher:subscribe","data":"{\"channel\":\"\ud83d\"}"}"#,
                .error("half a surrogate pair")
            ),
            // Nothing is compared with the data of an unknown event, or with an unknown member.
            HostileFrames(
                #"{"event":"x","data":"\uDFFF","\ud800":1}"#,
                .error("Unsupported event received on socket: 'x'")
            ),
            HostileFrames(
                "a surrogate as bytes",
                Frames.frame(1, [0x22, 0xED, 0xA0, 0x80, 0x22]),
                .close(1007, "not UTF-8")
            ),
            HostileFrames(
                "an overlong NUL",
                Frames.frame(1, [0xC0, 0x80]),
                .close(1007, "not UTF-8")
            ),
            HostileFrames(
                "past the last character",
                Frames.frame(1, [0xF4, 0x90, 0x80, 0x80]),
                .close(1007, "not UTF-8")
            ),
        ]

        private static let zeros: [HostileFrames] = [
            HostileFrames("\0", .error("unexpected byte 0x00 at byte 0")),
            HostileFrames("{\"event\":\"a\0b\"}", .error("unescaped control character at byte 11")),
            HostileFrames(
                "{\"event\":\"pusher:ping\"}\0",
                .error("unexpected byte 0x00 at byte 23")
            ),
            HostileFrames(
                #"{"event":"a\u0000b"}"#,
                .error(#"Unsupported event received on socket: 'a\u0000b'"#)
            ),
            HostileFrames(
                #"{"event":"pusher:ping\u0000"}"#,
                .error(#"Unsupported event received on socket: 'pusher:ping\u0000'"#)
            ),
            HostileFrames(
                subscribe(#"a\u0000b"#),
                .message(#"\"type\":\"InvalidChannel\""#),
                .error("the character at byte 1 is not one of")
            ),
            HostileFrames(
                subscribe(#"bystander\u0000"#),
                .message(#"\"type\":\"InvalidChannel\""#),
                .error("the character at byte 9 is not one of")
            ),
            HostileFrames(
                #"{"event":"pusher:unsubscribe","data":{"channel":"bystander\u0000"}}"#,
                .error("No current subscription to channel")
            ),
            HostileFrames(
                "1,000 of them",
                Frames.frame(1, [UInt8](repeating: 0, count: 1_000)),
                .error("unexpected byte 0x00 at byte 0")
            ),
        ]

        @Test(arguments: surrogates + zeros)
        func ofClients(_ frames: HostileFrames) async throws {
            try await frames.run()
        }

        private static let bodies: [HostileRequest] = [
            (
                #"{"name":"e","channel":"\ud800","data":"1"}"#, 400,
                "Invalid channel name: it contains half a surrogate pair"
            ),
            (#"{"name":"\udc00","channel":"a","data":"1"}"#, 400, "half a surrogate pair"),
            (
                #"{"name":"e","channel":"a","data":"1","idempotency_key":"\ud83d"}"#, 400,
                "half a surrogate pair"
            ),
            (
                #"{"name":"e","channel":"a","data":"1","socket_id":"1.\ud83d"}"#, 400,
                "Invalid socket_id"
            ),
            (#"{"name":"e","channel":"a","data":"\ud83d","\ude00":1}"#, 200, "{}"),
            (
                #"{"name":"e","channel":"a\u0000","data":"1"}"#, 400,
                #"Invalid channel name: "a\u0000""#
            ),
            (
                "{\"name\":\"e\",\"channel\":\"a\",\"data\":\"\0\"}", 400,
                "unescaped control character"
            ),
            ("{\"name\":\"e\",\"channel\":\"a\",\"data\":\"1\"}\0", 400, "unexpected byte 0x00"),
            // Escaped, it is an ordinary character.
            (#"{"name":"e\u0000","channel":"a","data":"\u0000"}"#, 200, "{}"),
        ].map { body, status, text in
            let request = SignedRequest(path: "/apps/1/events", body: body).text
            return HostileRequest(body.debugDescription, answered: request, (status, text))
        }

        @Test(arguments: bodies)
        func ofBackends(_ request: HostileRequest) async throws {
            try await TestBroker.attacked { try await request.run(on: $0) }
        }

        @Test("Names are compared by bytes: similar characters differ")
        func names() async throws {
            try await TestBroker.attacked { broker in
                for name in [
                    "bystandér", "bystander\u{301}", "ｂystander", "bystander\u{200B}", "Bystander",
                ] {
                    let body = #"{"name":"number","channel":"\#(name)","data":"0"}"#
                    let answer = try await Wire(port: broker.port)
                        .ask(SignedRequest(path: "/apps/1/events", body: body))
                    #expect(answer.status == (name == "Bystander" ? 200 : 400))
                }
            }
        }

        @Test("Escapes in an event reach its subscribers unchanged")
        func escapes() async throws {
            try await TestBroker.attacked { broker in
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "texts")
                for data in [
                    #"\u0000"#, #"\ud83d\ude00"#, #"\ud83d"#, #"\ude00"#, #"{\"t\":\"\\uD83D\"}"#,
                    #"\"}\r\n\r\n"#, #"\\ud800"#, "\u{2028}",
                ] {
                    let answer = try await broker.trigger("e", data, on: "texts")
                    #expect(answer.status == 200)
                    #expect(
                        try await client.nextText()
                            == #"{"event":"e","channel":"texts","data":"\#(data)"}"#
                    )
                }
            }
        }
    }
}
