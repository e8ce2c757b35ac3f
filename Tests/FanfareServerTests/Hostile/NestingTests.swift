import BrokerConfiguration
import Testing
import WebSocket

@testable import FanfareServer

extension HostileTests {
    @Suite("Deep JSON, RFC 8259 §9") struct NestingTests {
        private static let depth = 100_000

        private static func nested(_ depth: Int = depth) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }

        private static func objects(_ depth: Int) -> String {
            String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        }

        private static let messages: [HostileFrames] = [
            HostileFrames(nested(), .error("unexpected '[' at byte 0")),
            HostileFrames(String(repeating: "[", count: depth), .error("unexpected '[' at byte 0")),
            HostileFrames(objects(depth), .error("nested deeper than 128 levels at byte 640")),
            HostileFrames(
                #"{"event":"pusher:subscribe","data":\#(nested())}"#,
                .error("nested deeper than 128 levels")
            ),
            HostileFrames(
                #"{"event":"pusher:subscribe","x":\#(objects(depth)),"data":{"channel":"a"}}"#,
                .error("nested deeper than 128 levels")
            ),
            HostileFrames(
                #"{"event":"pusher:subscribe","data":"\#(nested())"}"#,
                .error("a JSON object is expected, and one as its data")
            ),
            HostileFrames(
                #"{"event":"client-a","channel":"private-a","data":\#(nested())}"#,
                .error("nested deeper than 128 levels")
            ),
            HostileFrames(
                #"{"event":"pusher:ping","data":\#(nested(127))}"#,
                .message("pusher:pong")
            ),
        ]

        @Test(arguments: messages)
        func ofClients(_ frames: HostileFrames) async throws {
            try await frames.run { $0.webSocketLimits.messageLengthMax = 1 << 20 }
        }

        @Test("In texts that a backend has signed for a client")
        func ofSignedData() async throws {
            try await TestBroker.attacked {
                $0.webSocketLimits.messageLengthMax = 1 << 20
            } by: { broker in
                let (client, socketID) = try await broker.connected()
                let info = #"{"user_id":"a","user_info":\#(Self.nested())}"#
                try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: info))
                let refusal = try await client.nextText()
                #expect(
                    refusal.contains("Invalid channel_data: a JSON object is expected, but nested")
                )
                #expect(try await client.nextText().contains(#""code":null"#))
                let user = #"{"id":"a","watchlist":\#(Self.nested())}"#
                try client.send(signInMessage(user, socketID: socketID))
                let error = try await client.nextText()
                #expect(error.contains("Invalid user_data: a JSON object is expected, but nested"))
                try await client.expectNothing()
            }
        }

        private static let bodies: [HostileRequest] = [
            ("/apps/1/events", nested(), "The body is not valid JSON: unexpected '[' at byte 0"),
            (
                "/apps/1/events", #"{"name":"e","channel":"a","data":\#(nested())}"#,
                "The body is not valid JSON: nested deeper than 128 levels"
            ),
            (
                "/apps/1/events", #"{"name":"e","channels":\#(nested()),"data":"1"}"#,
                "The body is not valid JSON: nested deeper than 128 levels"
            ),
            (
                "/apps/1/batch_events", #"{"batch":\#(objects(depth))}"#,
                "The body is not valid JSON: nested deeper than 128 levels"
            ),
            ("/apps/1/events", nested(100), "The body must be a JSON object"),
        ].map { path, body, text in
            HostileRequest(
                "\(path) \(body.prefix(50))",
                answered: SignedRequest(path: path, body: body).text,
                (400, text)
            )
        }

        @Test(arguments: bodies)
        func ofBackends(_ request: HostileRequest) async throws {
            try await TestBroker.attacked { try await request.run(on: $0) }
        }
    }
}
