import Testing

@testable import FanfareServer

@Suite("Private channels, Pusher protocol §7") struct PrivateChannelTests {
    @Test("A valid signature is accepted", arguments: [1, 2])
    func admits(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in (0..<4).map({ "private-\($0)" }) {
                let (client, socketID) = try await broker.connected()
                try client.send(subscribeMessage(to: channel, socketID: socketID))
                #expect(
                    try await client.nextText()
                        == #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#
                )
                _ = try await broker.trigger("e", "1", on: channel)
                #expect(
                    try await client.nextText()
                        == #"{"event":"e","channel":"\#(channel)","data":"1"}"#
                )
            }
        }
    }

    @Test func aRefusalNamesWhatWasToBeSignedAndLeavesTheConnectionOpen() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            let wrong = subscribeMessage(to: "private-x", socketID: socketID, secret: "other")
            let signature = try #require(wrong.firstMatch(of: /app-key:([0-9a-f]{64})/)).1
            let message =
                "Invalid signature: Expected HMAC SHA256 hex digest of \(socketID):private-x, "
                + "but got \(signature)"
            try client.send(wrong)
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher:subscription_error","channel":"private-x","data":"{\"type\":\"AuthError\",\"error\":\"\#(message)\",\"status\":401}"}"#
            )
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher:error","data":{"code":null,"message":"\#(message)"}}"#
            )
            // It gets no event of the channel, and may try again.
            _ = try await broker.trigger("e", "1", on: "private-x")
            try await client.expectNothing()
            try client.send(subscribeMessage(to: "private-x", socketID: socketID))
            #expect(try await client.nextText().contains("subscription_succeeded"))
        }
    }

    @Test func aSignatureIsGoodForOneConnection() async throws {
        try await TestBroker.run { broker in
            let (_, socketID) = try await broker.connected()
            let (thief, _) = try await broker.connected()
            try thief.send(subscribeMessage(to: "private-x", socketID: socketID))
            #expect(try await thief.nextText().contains(#"\"status\":401"#))
        }
    }
}
