import Testing

@testable import FanfareServer

@Suite("Conformance: subscribing, Pusher protocol §6, §7, §8") struct SubscribingConformanceTests {
    private func acknowledgement(_ channel: String) -> String {
        #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#
    }

    @Test("A public channel needs no auth, and ignores one")
    func publicChannels() async throws {
        try await TestBroker.run { broker in
            for auth in ["", #","auth":"""#, #","auth":"nonsense","channel_data":"nonsense""#] {
                let (client, _) = try await broker.connected()
                try client.send(
                    #"{"event":"pusher:subscribe","data":{"channel":"news"\#(auth)}}"#
                )
                #expect(try await client.nextText() == acknowledgement("news"))
            }
        }
    }

    @Test(
        "Only a prefix with its dash at the start determines the kind of a channel",
        arguments: [
            "private", "presence", "cache", "privatefoo", "presencefoo", "cachefoo", "Private-x",
            "foo-private-x", "foo-presence-x", "foo-cache-x", "encrypted-x", "private_x",
        ]
    )
    func publicAfterAll(channel: String) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: channel)
            // No cache miss and no members either.
            try await client.expectNothing()
        }
    }

    @Test(
        "Every other kind needs a signature: without it both errors, and the connection stays",
        arguments: [
            "private-x", "private-", "private-cache-x", "private-encrypted-x",
            "private-encrypted-cache-x", "presence-x", "presence-cache-x",
        ]
    )
    func signatures(channel: String) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            for auth in ["", #","auth":"""#, #","auth":"app-key""#, #","auth":"app-key:00""#] {
                try client.send(
                    #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"\#(auth)}}"#
                )
                #expect(
                    try await client.nextText().hasPrefix(
                        #"{"event":"pusher:subscription_error","channel":"\#(channel)","data":"{\"type\":\""#
                    )
                )
                #expect(
                    try await client.nextText()
                        .hasPrefix(#"{"event":"pusher:error","data":{"code":null,"message":""#)
                )
            }
            #expect(try await broker.query("/apps/1/channels").body == #"{"channels":{}}"#)
            try await client.expectNothing()
        }
    }

    @Test("The channel_data of a private channel is signed")
    func dataOfPrivateChannels() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            let data = #"{"foo":"bar"}"#
            let signed = subscribeMessage(to: "private-x", socketID: socketID, data: data)
            let unsigned = subscribeMessage(to: "private-x", socketID: socketID)
                .replacing("}}", with: #","channel_data":"\#(quoted(data))"}}"#)
            try client.send(unsigned)
            #expect(
                try await client.nextText()
                    .contains("hex digest of \(socketID):private-x:\(quoted(quoted(data)))")
            )
            _ = try await client.nextText()
            try client.send(signed)
            #expect(try await client.nextText() == acknowledgement("private-x"))
        }
    }

    @Test(
        "The signed text is verified as received, byte for byte",
        arguments: [
            #"{"user_id": "u-1", "user_info": {"name": "A"}}"#,
            #"{"user_id":"u-1","user_info":{"name":"\u017b\u00f3\u0142\u0107 \ud83d\ude00"}}"#,
            #"{"user_id":"u-1","user_info":{"name":"Żółć 😀"}}"#,
            #" { "user_info" : null , "user_id" : "u\u002d1" } "#,
        ]
    )
    func verbatim(data: String) async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
            #expect(try client.presentUsers(try await client.nextText()) == ["u-1"])
        }
    }

    @Test("A numeric user id becomes a string with the same digits")
    func numericIDs() async throws {
        try await TestBroker.run { broker in
            let (watcher, _) = try await broker.joined("presence-x", as: "watcher")
            let (client, socketID) = try await broker.connected()
            let data = #"{"user_id":9007199254740993}"#
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
            #expect(
                try client.presentUsers(try await client.nextText())
                    == ["9007199254740993", "watcher"]
            )
            #expect(try await watcher.nextText() == Notice.added("9007199254740993", "presence-x"))
            #expect(try await broker.users(of: "presence-x") == ["9007199254740993", "watcher"])
        }
    }

    @Test("The key before the colon must be one of the app's")
    func keys() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            let message = subscribeMessage(to: "private-x", socketID: socketID)
            try client.send(message.replacing("app-key:", with: "other-key:"))
            let refusal = try await client.nextText()
            #expect(refusal.contains("Invalid key in subscription auth data: 'other-key:"))
            #expect(refusal.contains(#"\"type\":\"AuthError\""#))
            #expect(refusal.contains(#"\"status\":401"#))
        }
    }

    @Test("No event of a channel comes before its acknowledgement", arguments: [1, 3])
    func order(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let publishing = Task {
                let wire = try Wire(port: broker.port)
                let body = #"{"name":"e","channels":["news","presence-x"],"data":"1"}"#
                while !Task.isCancelled {
                    _ = try await wire.ask(SignedRequest(path: "/apps/1/events", body: body))
                }
            }
            for number in 0..<20 {
                let (client, socketID) = try await broker.connected()
                if number % 2 == 0 {
                    try client.send(#"{"event":"pusher:subscribe","data":{"channel":"news"}}"#)
                } else {
                    let data = #"{"user_id":"u-\#(number)"}"#
                    try client.send(
                        subscribeMessage(to: "presence-x", socketID: socketID, data: data)
                    )
                }
                #expect(try await client.nextText().contains("subscription_succeeded"))
                #expect(try await client.nextText().contains(#""event":"e""#))
            }
            publishing.cancel()
            _ = try? await publishing.value
        }
    }
}
