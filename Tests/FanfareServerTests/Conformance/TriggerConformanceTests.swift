import Testing

@testable import FanfareServer

@Suite("Conformance: triggers, HTTP API §2.1, §2.2") struct TriggerConformanceTests {
    /// A client of channel `a`.
    private func subscriber(_ broker: TestBroker) async throws -> WebSocketWire {
        let (client, _) = try await broker.connected()
        try await client.subscribe(to: "a")
        return client
    }

    @Test(
        "Channels are accepted in each form that a library sends; null counts as absent",
        arguments: [
            #""channels":["a"]"#, #""channel":"a""#, #""channels":"a""#,
            #""channel":"a","channels":null,"socket_id":null,"info":null"#,
            #""channel":null,"channels":["a"]"#, #""channel":"other","channels":["a"]"#,
            #""channels":["a"],"unknown":{"x":[null]}"#,
        ]
    )
    func channels(members: String) async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            let answer = try await broker.post(#"{"name":"e","data":"1",\#(members)}"#)
            #expect(answer.status == 200 && answer.body == "{}")
            #expect(answer.head.lowercased().contains("content-type: application/json"))
            #expect(try await client.nextText() == #"{"event":"e","channel":"a","data":"1"}"#)
        }
    }

    @Test("The parameters of a POST may be in its query instead of its body")
    func query() async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            let request = HandSignedRequest(
                method: "POST",
                path: "/apps/1/events",
                query: ["channels[]=a", "channels[]=b", "data=%7B%22x%22%3A1%7D", "name=e"],
                signedQuery: ["channels[]=a", "channels[]=b", #"data={"x":1}"#, "name=e"]
            )
            #expect(try await broker.ask(request).body == "{}")
            #expect(
                try await client.nextText()
                    == #"{"event":"e","channel":"a","data":"{\"x\":1}"}"#
            )
        }
    }

    @Test(
        "A string is delivered unchanged, anything else is encoded as JSON once",
        arguments: [
            (#""""#, #""""#), (#""plain""#, #""plain""#), (#""Żółć 😀""#, #""Żółć 😀""#),
            (#""\u017b\/\n\"\\""#, #""\u017b\/\n\"\\""#), (#"{"a": 1.0}"#, #""{\"a\": 1.0}""#),
            ("9007199254740993", #""9007199254740993""#), ("[]", #""[]""#), ("true", #""true""#),
            (
                #""{\"nonce\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX\",\"ciphertext\":\"JudJzMunSIiVrODAo+lfpUsGJzgoj596PYEg0Ekt7UbHsg5iiqAaZxI=\"}""#,
                #""{\"nonce\":\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX\",\"ciphertext\":\"JudJzMunSIiVrODAo+lfpUsGJzgoj596PYEg0Ekt7UbHsg5iiqAaZxI=\"}""#
            ),
        ]
    )
    func data(given: String, delivered: String) async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            let answer = try await broker.post(#"{"name":"e","channel":"a","data":\#(given)}"#)
            #expect(answer.status == 200)
            #expect(
                try await client.nextText()
                    == #"{"event":"e","channel":"a","data":\#(delivered)}"#
            )
        }
    }

    @Test(
        "An event's name may contain any characters",
        arguments: [
            #"App\\Events\\OrderShipped"#, ".order.shipped", "client-x", "a b", "Ż", "pusherx",
        ]
    )
    func names(name: String) async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            _ = try await broker.post(#"{"name":"\#(name)","channel":"a","data":"1"}"#)
            #expect(
                try await client.nextText() == #"{"event":"\#(name)","channel":"a","data":"1"}"#
            )
        }
    }

    @Test(
        "Each error in a trigger is 400 with its cause",
        arguments: [
            ("nonsense", "The body is not valid JSON"), ("[]", "The body must be a JSON object\n"),
            (#"{"channel":"a","data":"1"}"#, "Missing required parameter: name\n"),
            (#"{"name":"","channel":"a","data":"1"}"#, "Invalid event name"),
            (#"{"name":7,"channel":"a","data":"1"}"#, "name must be a string\n"),
            (#"{"name":"pusher:x","channel":"a","data":"1"}"#, "Invalid event name"),
            (#"{"name":"pusher_internal:x","channel":"a","data":"1"}"#, "Invalid event name"),
            (#"{"name":"e","channel":"a"}"#, "Missing required parameter: data\n"),
            (#"{"name":"e","channel":"a","data":null}"#, "Missing required parameter: data\n"),
            (#"{"name":"e","data":"1"}"#, "Missing required parameter: channel\n"),
            (#"{"name":"e","data":"1","channels":[]}"#, "Missing required parameter: channel\n"),
            (#"{"name":"e","data":"1","channel":"b c"}"#, #"Invalid channel name: "b c""#),
            (##"{"name":"e","data":"1","channel":"#x"}"##, ##"Invalid channel name: "#x""##),
            (#"{"name":"e","data":"1","channels":["a",""]}"#, #"Invalid channel name: """#),
            (#"{"name":"e","data":"1","channel":"a","socket_id":"1"}"#, "Invalid socket_id"),
            (#"{"name":"e","data":"1","channel":"a","socket_id":1.2}"#, "Invalid socket_id"),
            (#"{"name":"e","data":"1","channel":"a","info":"users"}"#, "Unknown info attribute"),
            (#"{"name":"e","data":"1","channel":"a","info":"cache"}"#, "cache may only be"),
        ]
    )
    func faults(body: String, text: String) async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            let answer = try await broker.post(body)
            #expect(answer.status == 400)
            #expect(answer.body.hasPrefix(text) && answer.body.hasSuffix("\n"), "\(answer.body)")
            #expect(answer.body.split(separator: "\n").count == 1)
            try await client.expectNothing()
        }
    }

    @Test("An unknown socket_id excludes no connection")
    func unknownSocketIDs() async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            for id in ["9.9", "007.1", "123456789012345678901234567890.1"] {
                let body = #"{"name":"e","channel":"a","data":"1","socket_id":"\#(id)"}"#
                #expect(try await broker.post(body).status == 200)
                #expect(try await client.nextText() == #"{"event":"e","channel":"a","data":"1"}"#)
            }
        }
    }

    @Test("A batch with one error publishes nothing, and the answer has the event's index")
    func batches() async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            func post(_ events: String) async throws -> Answer {
                try await broker.post(#"{"batch":\#(events)}"#, to: "/apps/1/batch_events")
            }
            let good = #"{"name":"e","channel":"a","data":"1"}"#
            let nameless = try await post(#"[\#(good),{"channel":"a","data":"1"}]"#)
            #expect(nameless.status == 400)
            #expect(
                nameless.body == "Missing required parameter: name (event 1 of the batch)\n"
            )
            let long = String(repeating: "x", count: 102_401)
            let tooLong = try await post(
                #"[\#(good),{"name":"e","channel":"a","data":"\#(long)"}]"#
            )
            #expect(tooLong.status == 413)
            #expect(tooLong.body.contains("(event 1 of the batch)"))
            for events in ["[]", "{}", "null", "[7]", #"[{"name":"e","data":"1"}]"#] {
                #expect(try await post(events).status == 400)
            }
            try await client.expectNothing()
        }
    }

    @Test("info is answered once per channel, without attributes that do not apply")
    func info() async throws {
        try await TestBroker.run { broker in
            let client = try await subscriber(broker)
            let (ann, _) = try await broker.joined("presence-x", as: "ann")
            let channels = #""channels":["a","presence-x","a","vacant"]"#
            for info in [
                #""user_count,subscription_count""#, #"["user_count","subscription_count"]"#,
            ] {
                let answer = try await broker.post(
                    #"{"name":"e","data":"1",\#(channels),"info":\#(info)}"#
                )
                #expect(
                    answer.body
                        == #"{"channels":{"a":{"subscription_count":1},"presence-x":{"user_count":1,"subscription_count":1},"vacant":{"subscription_count":0}}}"#
                )
            }
            withExtendedLifetime((client, ann)) {}
        }
    }

    @Test("Events for a user's own channel are triggered at the same endpoint")
    func users() async throws {
        try await TestBroker.run { broker in
            let body = ##"{"name":"e","data":"1","channels":["#server-to-user-u-1"]}"##
            let answer = try await broker.post(body)
            #expect(answer.body == "{}")
            let invalid = ##"{"name":"e","data":"1","channels":["#server-to-user-"]}"##
            #expect(try await broker.post(invalid).status == 400)
        }
    }
}
