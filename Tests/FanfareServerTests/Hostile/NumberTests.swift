import Testing

@testable import FanfareServer

extension HostileTests {
    @Suite("Enormous numbers") struct NumberTests {
        /// 10^400, written out.
        private static let enormous = "1" + String(repeating: "0", count: 400)
        private static let clock = SignedRequest(path: "/").timestamp

        private static func get(_ target: String, _ fields: String = "Host: h\r\n") -> String {
            "GET \(target) HTTP/1.1\r\n\(fields)\r\n"
        }

        private static let messages: [HostileFrames] = [
            HostileFrames(#"{"event":1e999}"#, .error("'event' must be a string")),
            HostileFrames(#"{"event":\#(enormous)}"#, .error("'event' must be a string")),
            HostileFrames(
                #"{"event":"pusher:subscribe","data":{"channel":-1e-999}}"#,
                .error("'channel' must be a string")
            ),
            HostileFrames(
                #"{"event":"pusher:ping","x":[1e999,-1e999,1E+999,0e0,\#(enormous),0.\#(enormous)]}"#,
                .message("pusher:pong")
            ),
            HostileFrames(
                #"{"event":"pusher:ping","x":1\#(String(repeating: "0", count: 60_000))}"#,
                .message("pusher:pong")
            ),
            HostileFrames(#"{"event":"x","y":1e}"#, .error("malformed number at byte 17")),
            HostileFrames(#"{"event":"x","y":-}"#, .error("malformed number at byte 17")),
            HostileFrames(#"{"event":"x","y":00}"#, .error("malformed number at byte 17")),
            HostileFrames(#"{"event":"x","y":Infinity}"#, .error("unexpected 'I' at byte 17")),
            HostileFrames(#"{"event":"x","y":NaN}"#, .error("unexpected 'N' at byte 17")),
        ]

        private static let lengths: [HostileFrames] = [
            HostileFrames(
                "2^63 bytes",
                Frames.frame(1, announced: 1 << 63),
                .close(1002, "exceeds 63 bits")
            ),
            HostileFrames(
                "-1 bytes",
                Frames.frame(1, announced: .max),
                .close(1002, "exceeds 63 bits")
            ),
            HostileFrames(
                "2^63 - 1 bytes",
                Frames.frame(1, announced: 1 << 63 - 1),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "one byte too many",
                Frames.frame(1, announced: 262_145),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "2^63 - 1 bytes behind others",
                Frames.frame(1, [0x20], isFinal: false) + Frames.frame(0, announced: 1 << 63 - 1),
                .close(1009, "limit of 262144 bytes")
            ),
            HostileFrames(
                "5 bytes, in 64 bits",
                [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0],
                .close(1002, "more bytes than it needs")
            ),
            HostileFrames(
                "125 bytes, in 16 bits",
                [0x81, 0xFE, 0, 125, 0, 0, 0, 0],
                .close(1002, "more bytes than it needs")
            ),
        ]

        @Test(arguments: messages + lengths)
        func ofClients(_ frames: HostileFrames) async throws {
            try await frames.run()
        }

        /// All of these have a public key, and no secret.
        private static let timestamps: [HostileRequest] = [
            ("9223372036854775807", "Timestamp expired: Given timestamp (9223372036854775807)"),
            ("-9223372036854775808", "Timestamp expired: Given timestamp (-9223372036854775808)"),
            // The distance from now overflows: unchecked arithmetic would end the process.
            ("\(Int.min + clock)", "Timestamp expired"),
            ("\(Int.min + clock + 1)", "Timestamp expired"),
            ("\(Int.min + clock + 2)", "Timestamp expired"),
            ("9223372036854775808", "Invalid timestamp"),
            ("-9223372036854775809", "Invalid timestamp"),
            (enormous, "Invalid timestamp"), ("1e999", "Invalid timestamp"),
            ("-", "Invalid timestamp"),
            ("", "Invalid timestamp"), ("-0", "Timestamp expired"),
        ].map { timestamp, text in
            let query =
                "auth_key=app-key&auth_version=1.0&auth_timestamp=\(timestamp)&auth_signature=0"
            let name = "a timestamp of \(timestamp.prefix(50))"
            return HostileRequest(name, answered: get("/apps/1/channels?\(query)"), (401, text))
        }

        private static let heads: [HostileRequest] =
            [
                ("18446744073709551616", 413, "at most 2097152 are accepted"),
                ("18446744073709551615", 413, "at most 2097152 are accepted"),
                ("9223372036854775808", 413, "at most 2097152 are accepted"),
                ("2097153", 413, "The content has 2097153 bytes; at most 2097152"),
                (enormous, 413, "at most 2097152 are accepted"),
                ("-1", 400, "\"-1\" is not a number"), ("1e3", 400, "\"1e3\" is not a number"),
                ("0x10", 400, "\"0x10\" is not a number"),
            ]
            .map { length, status, text in
                HostileRequest(
                    "a length of \(length.prefix(50))",
                    "POST /apps/1/events HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n",
                    status,
                    text
                )
            }
            + [
                HostileRequest(
                    "port 65536000",
                    get("/health", "Host: h:65536000\r\n"),
                    400,
                    "is not a host with an optional port"
                ),
                HostileRequest("port -1", get("/health", "Host: h:-1\r\n"), 400, "optional port"),
                HostileRequest(
                    "HTTP/1.4294967297",
                    "GET / HTTP/1.4294967297\r\nHost: h\r\n\r\n",
                    400,
                    "request line is not METHOD"
                ),
                HostileRequest(
                    "HTTP/9.9",
                    "GET / HTTP/9.9\r\nHost: h\r\n\r\n",
                    505,
                    "use HTTP/1.1"
                ),
                HostileRequest(
                    "a chunk of 10^400 bytes",
                    SignedRequest(path: "/apps/1/events").head(["Transfer-Encoding: chunked"])
                        + enormous + "\r\n",
                    413,
                    "longer than 2097152 bytes"
                ),
                HostileRequest(
                    "a million field lines",
                    get("/health", "Host: h\r\n" + String(repeating: "a:\r\n", count: 100_000)),
                    431,
                    "more than 100 header lines"
                ),
                HostileRequest(
                    "a field of a megabyte",
                    get(
                        "/health",
                        "Host: h\r\nA: " + String(repeating: "a", count: 1 << 20) + "\r\n"
                    ),
                    431,
                    "more than 16384 bytes"
                ),
                HostileRequest(
                    "a length of a thousand zeros",
                    answered: get(
                        "/health",
                        "Host: h\r\nContent-Length: \(String(repeating: "0", count: 1_000))\r\n"
                    ),
                    (200, "ok")
                ),
            ]

        private static let bodies: [HostileRequest] = [
            (
                #"{"name":"e","channel":"a","data":"1","socket_id":"\#(enormous).\#(enormous)"}"#,
                200,
                "{}"
            ),
            (
                #"{"name":"e","channel":"a","data":"1","socket_id":1e999}"#, 400,
                "Invalid socket_id: "
            ),
            (
                #"{"name":"e","channel":"a","data":"1","socket_id":"-1.1"}"#, 400,
                "Invalid socket_id: "
            ),
            (#"{"name":"e","channel":"a","data":1e999}"#, 200, "{}"),
            (#"{"name":1e999,"channel":"a","data":"1"}"#, 400, "name must be a string"),
            (#"{"name":"e","channel":\#(enormous),"data":"1"}"#, 400, "A channel must be a string"),
            (#"{"name":"e","channel":"a","data":"1","info":1e999}"#, 400, "info must be a string"),
            (#"{"name":"e","channel":"a","data":1e}"#, 400, "malformed number"),
            (
                #"{"name":"e","channel":"a","data":1\#(String(repeating: "0", count: 200_000))}"#,
                413,
                "this event has 200001 bytes"
            ),
        ].map { body, status, text in
            let request = SignedRequest(path: "/apps/1/events", body: body).text
            return HostileRequest("\(body.prefix(80))", answered: request, (status, text))
        }

        @Test(arguments: timestamps + heads + bodies)
        func ofBackends(_ request: HostileRequest) async throws {
            try await TestBroker.attacked { try await request.run(on: $0) }
        }

        @Test(
            "Protocol versions that are not small numbers",
            arguments: [
                (enormous, 4007), ("18446744073709551623", 4007), ("4294967303", 4007),
                ("-7", 4006),
                ("7.0", 4006), ("7e0", 4006), ("0x7", 4006), ("%00", 4006), ("7%00", 4006),
            ]
        )
        func versions(version: String, code: Int) async throws {
            try await TestBroker.attacked { broker in
                let target = "/app/app-key?protocol=\(version)"
                let client = try await WebSocketWire(port: broker.port, target: target)
                try await client.expectEnd(code)
                try await client.wire.expectNoMore()
            }
        }

        @Test("A compression offer with invalid numbers is ignored")
        func compression() async throws {
            try await TestBroker.attacked { broker in
                for bits in [Self.enormous, "0", "-15", "16", "015", "1e1", "4294967311"] {
                    for name in ["server_max_window_bits", "client_max_window_bits"] {
                        let offer = "permessage-deflate; \(name)=\(bits)"
                        let client = try await WebSocketWire(
                            port: broker.port,
                            fields: "Sec-WebSocket-Extensions: \(offer)\r\n"
                        )
                        #expect(!client.responseHead.contains("permessage-deflate"))
                        _ = try await client.socketID()
                    }
                }
            }
        }

        @Test(
            "A member's id that is an enormous number",
            arguments: [
                (enormous, "user_id has 401 characters, at most 128 are allowed"),
                ("1e999", "user_id must be a string or an integer"),
                ("-1.5", "user_id must be a string or an integer"),
            ]
        )
        func members(id: String, text: String) async throws {
            try await TestBroker.attacked { broker in
                let (client, socketID) = try await broker.connected()
                let data = #"{"user_id":\#(id)}"#
                try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
                let refusal = try await client.nextText()
                #expect(refusal.contains("pusher:subscription_error") && refusal.contains(text))
                #expect(try await client.nextText().contains(#""code":null"#))
                try await client.expectNothing()
            }
        }
    }
}
