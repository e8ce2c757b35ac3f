import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

extension HostileTests {
    @Suite("Header injection and response splitting") struct InjectionTests {
        private static let split = "%0d%0aX-Evil:%201%0d%0a%0d%0a<script>"
        private static let fresh = "%0D%0AHTTP/1.1%20200%20OK%0D%0A%0D%0A"

        private static func get(_ target: String) -> String {
            "GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n"
        }

        private static func signed(_ path: String, _ parameters: [(String, String)] = []) -> String
        {
            // The decoded text is signed, with the path as sent.
            SignedRequest(method: "GET", path: path, parameters: parameters).text
        }

        /// Names and values of the query that the refusal repeats.
        private static let queries: [HostileRequest] = [
            ("auth_key=\(fresh)", 401, "Unknown auth_key"),
            ("auth_key=app-key&auth_version=\(fresh)", 401, "Version not supported"),
            (
                "auth_key=app-key&auth_version=1.0&auth_timestamp=%0d%0aX:1", 401,
                #"Unix time in seconds, not "\r\nX:1""#
            ),
            (
                "\(fresh)=1&auth_key=app-key&auth_version=1.0&auth_timestamp=NOW&auth_signature=\(fresh)",
                401, #"but you sent "\r\nHTTP/1.1 200 OK\r\n\r\n""#
            ),
        ].map { query, status, text in
            let query = query.replacing("NOW", with: "\(SignedRequest(path: "/").timestamp)")
            return HostileRequest(query, answered: get("/apps/1/channels?\(query)"), (status, text))
        }

        /// Names in the path, in correctly signed requests.
        private static let names: [HostileRequest] = [
            (
                "/apps/1/channels/%0d%0aX-Evil:%201", 400,
                #"Invalid channel name: "\r\nX-Evil: 1" (the character at byte 0"#
            ),
            ("/apps/1/channels/a%0A/users", 400, #"Invalid channel name: "a\n""#),
            ("/apps/1/channels/a%E2%80%A8b", 400, "Invalid channel name: \"a\u{2028}b\""),
            ("/apps/1/channels/a%00", 400, #"Invalid channel name: "a\u0000""#),
        ].map { path, status, text in
            HostileRequest(path, answered: signed(path), (status, text))
        }

        private static let bodies: [HostileRequest] = [
            (
                #"{"name":"e","channel":"a\r\nX-Evil: 1","data":"1"}"#,
                #"Invalid channel name: "a\r\nX-Evil: 1""#
            ),
            (
                #"{"name":"e","channel":"a","data":"1","socket_id":"1.1\r\nX: 1"}"#,
                #"Invalid socket_id: "1.1\r\nX: 1""#
            ),
            (
                #"{"name":"e","channel":"a","data":"1","info":"\r\nX-Evil: 1"}"#,
                #"Unknown info attribute: "\r\nX-Evil: 1""#
            ),
        ].map { body, text in
            HostileRequest(
                body,
                answered: SignedRequest(path: "/apps/1/events", body: body).text,
                (400, text)
            )
        }

        private static let users: [HostileRequest] = [
            HostileRequest(
                "a user's id",
                answered: SignedRequest(path: "/apps/1/users/%0d%0aX:1/terminate_connections").text,
                (400, #"Invalid user id: "\r\nX:1""#)
            ),
            HostileRequest(
                "a filter",
                answered:
                    "GET /apps/1/channels?filter_by_prefix=\(fresh) HTTP/1.1\r\nHost: h\r\n\r\n",
                (401, "Missing parameter: auth_key")
            ),
            HostileRequest(
                "a path that is not there",
                answered: get("/\(fresh)"),
                (404, "Nothing is at /\(fresh)")
            ),
            HostileRequest(
                "an app that is not there",
                answered: get("/apps/\(fresh.replacing("/", with: "%2f"))/channels"),
                (404, "No app has the ID %0D%0AHTTP")
            ),
            HostileRequest("markup", get("/\(split)"), 400, "request target is not a path"),
        ]

        private static func upgrade(_ fields: String) -> String {
            "GET /app/app-key HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(fields)\r\n"
        }

        /// Fields whose values could appear in the answer to an upgrade.
        private static let upgrades: [HostileRequest] = [
            HostileRequest(
                "a version",
                answered: upgrade("Sec-WebSocket-Version: 13, X-Evil: 1\r\n"),
                (426, "not 13, X-Evil: 1.")
            ),
            HostileRequest(
                "a subprotocol",
                answered: upgrade(
                    "Sec-WebSocket-Version: 13\r\n"
                        + "Sec-WebSocket-Protocol: pusher-channels-protocol-7; X-Evil=1\r\n"
                ),
                (400, "not a list of different tokens")
            ),
            HostileRequest(
                "an extension",
                answered: upgrade(
                    "Sec-WebSocket-Version: 13\r\n"
                        + "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=\"\\1\t0\"\r\n"
                ),
                (400, "breaks the grammar")
            ),
            HostileRequest(
                "a subprotocol with CR",
                upgrade("Sec-WebSocket-Protocol: pusher-channels-protocol-7\rX-Evil: 1\r\n"),
                400,
                "control character"
            ),
            HostileRequest(
                "an origin with LF",
                upgrade("Origin: https://a.test\nX-Evil: 1\r\n"),
                400,
                "ends in LF alone"
            ),
        ]

        @Test(arguments: queries + names + bodies + users + upgrades)
        func nothingIsReflectedInAHead(_ request: HostileRequest) async throws {
            try await TestBroker.attacked { try await request.run(on: $0) }
        }

        @Test("The answer to an upgrade has only text of the broker")
        func upgradeRepeatsNoText() async throws {
            try await TestBroker.attacked { broker in
                let client = try await WebSocketWire(
                    port: broker.port,
                    target: "/app/app-key?protocol=7&client=%0d%0aX-Evil:1&version=\(Self.fresh)",
                    fields: "Origin: https://a.test/X-Evil: 1\r\n"
                        + "Sec-WebSocket-Protocol: X-Evil, pusher-channels-protocol-7\r\n"
                        + "Sec-WebSocket-Extensions: x-evil; a=\"b\", permessage-deflate; "
                        + "server_max_window_bits=\"1\\0\"\r\n"
                )
                #expect(!client.responseHead.lowercased().contains("evil"))
                #expect(client.responseHead.split(separator: "\r\n").count == 6)
                _ = try await client.socketID()
            }
        }

        @Test("A refused origin is repeated as JSON, and truncated")
        func originsAreQuoted() async throws {
            try await TestBroker.attacked {
                $0.apps[0].allowedOrigins = ["https://a.test"]
            } by: { broker in
                let origin =
                    #"https://b.test","code":1,"x":"\#(String(repeating: "y", count: 5_000))"#
                let client = try await WebSocketWire(
                    port: broker.port,
                    fields: "Origin: \(origin)\r\n"
                )
                let text = try await client.nextText()
                let start = #"{"event":"pusher:error","data":{"code":4009,"message":"The origin"#
                #expect(text.hasPrefix(start))
                #expect(text.contains(#"https://b.test\",\"code\":1"#) && text.utf8.count < 500)
                #expect(try await client.next().closeCode == 4009)
                try await client.wire.expectNoMore()
            }
        }

        @Test(
            "A name with line ends is refused with JSON, and creates no channel",
            arguments: [#"a\r\nX-Evil: 1"#, #"a\u000a"#, #"a\u2028b"#, #"a\u0000"#, #"\"}}"#]
        )
        func channelNames(name: String) async throws {
            try await TestBroker.attacked { broker in
                let (client, _) = try await broker.connected()
                try client.send(#"{"event":"pusher:subscribe","data":{"channel":"\#(name)"}}"#)
                let refusal = try await client.nextText()
                #expect(refusal.contains("pusher:subscription_error"))
                #expect(refusal.contains(#"\"type\":\"InvalidChannel\""#))
                // One line, in which all line ends are escaped.
                #expect(refusal.unicodeScalars.allSatisfy { $0.value >= 0x20 })
                #expect(try await client.nextText().contains(#""code":null"#))
                try await client.expectNothing()
            }
        }
    }
}
