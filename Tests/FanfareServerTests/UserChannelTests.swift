import Testing

@testable import FanfareServer

@Suite("Events to a user, Pusher protocol §10.3") struct UserChannelTests {
    @Test("An event on a user's channel reaches all connections of the user", arguments: [1, 3])
    func delivery(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for user in ["ann", "bob", "a=@,.;_-"] {
                let channel = "#server-to-user-\(user)"
                var clients: [WebSocketWire] = []
                for _ in 0..<3 {
                    let (client, _) = try await broker.signedIn(as: user)
                    // What pusher-js sends: an empty auth.
                    try client.send(
                        #"{"event":"pusher:subscribe","data":{"auth":"","channel":"\#(channel)"}}"#
                    )
                    #expect(
                        try await client.nextText()
                            == #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#
                    )
                    clients.append(client)
                }
                #expect(try await broker.trigger("e", "1", on: channel).body == "{}")
                for client in clients {
                    #expect(
                        try await client.nextText()
                            == #"{"event":"e","channel":"\#(channel)","data":"1"}"#
                    )
                }
            }
        }
    }

    @Test("A user's channel is refused to all others by both events, and the connection stays open")
    func refusals() async throws {
        try await TestBroker.run { broker in
            let (stranger, strangerID) = try await broker.connected()
            let (bob, bobID) = try await broker.signedIn(as: "bob")
            for (client, socketID) in [(stranger, strangerID), (bob, bobID)] {
                // Even a valid signature is refused.
                for message in [
                    ##"{"event":"pusher:subscribe","data":{"channel":"#server-to-user-ann"}}"##,
                    subscribeMessage(to: "#server-to-user-ann", socketID: socketID),
                ] {
                    try client.send(message)
                    let refused = try await client.nextText()
                    #expect(
                        refused.hasPrefix(
                            ##"{"event":"pusher:subscription_error","channel":"#server-to-user-ann","data":"{\"type\":\"AuthError\""##
                        ),
                        "\(refused)"
                    )
                    #expect(
                        try await client.nextText()
                            .hasPrefix(#"{"event":"pusher:error","data":{"code":null,"#)
                    )
                    _ = try await broker.trigger("e", "1", on: "#server-to-user-ann")
                    try await client.expectNothing()
                }
            }
        }
    }

    @Test("A user's channel is not listed among the occupied channels", arguments: [1, 3])
    func notListed(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (client, _) = try await broker.signedIn(as: "ann")
            try await client.subscribe(to: "#server-to-user-ann")
            try await client.subscribe(to: "news")
            let answer = try await Wire(port: broker.port)
                .ask(SignedRequest(method: "GET", path: "/apps/1/channels"))
            #expect(answer.body == #"{"channels":{"news":{}}}"#)
        }
    }
}
