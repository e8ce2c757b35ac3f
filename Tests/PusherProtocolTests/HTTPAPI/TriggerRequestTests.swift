import PusherProtocol
import Testing

@Suite("Triggers") struct TriggerRequestTests {
    static func trigger(_ body: String, query: String = "") throws -> Publication {
        try TriggerRequest.parse(bytes(body).span, parameters: QueryParameters(query))
    }

    @Test func readsEveryField() throws {
        let publication = try Self.trigger(
            #"{"name":"my-event","data":"{\"a\":1}","channels":["ch-1","presence-x"],"#
                + #""socket_id":"123.456","info":"user_count,subscription_count","unknown":[{}]}"#
        )
        #expect(text(publication.nameToken) == #""my-event""#)
        #expect(publication.name == "my-event")
        #expect(text(publication.dataToken) == #""{\"a\":1}""#)
        #expect(publication.data == #"{"a":1}"#)
        #expect(publication.channels.map(\.text) == ["ch-1", "presence-x"])
        #expect(publication.channels.map(\.kind) == [.public, .presence])
        #expect(publication.except == SocketID(123, 456))
        #expect(publication.info == [.userCount, .subscriptionCount])
    }

    @Test("null counts as absent: the Swift library sends it")
    func ignoresNull() throws {
        let publication = try Self.trigger(
            #"{"channel":"x","channels":null,"data":"1","info":null,"name":"e","socket_id":null}"#
        )
        #expect(publication.channels.map(\.text) == ["x"])
        #expect(publication.except == nil)
        #expect(publication.info == [])
        let other = try Self.trigger(#"{"channel":null,"channels":["y"],"data":"1","name":"e"}"#)
        #expect(other.channels.map(\.text) == ["y"])
    }

    @Test(arguments: [
        (#""channels":["a","b","a"]"#, ["a", "b"]), (#""channels":"a""#, ["a"]),
        (#""channel":"a""#, ["a"]), (#""channel":"a","channels":["b"]"#, ["b"]),
        (#""channels":["a\u002db"]"#, ["a-b"]), (#""ch\u0061nnel":"a""#, ["a"]),
        (##""channels":["#server-to-user-u-1"]"##, ["#server-to-user-u-1"]),
        (#""channel":"a","channel":"b""#, ["b"]),
        (#""channels":["private-encrypted-a","b"]"#, ["private-encrypted-a", "b"]),
    ])
    func readsChannels(members: String, channels: [String]) throws {
        let publication = try Self.trigger("{\"name\":\"e\",\"data\":\"\",\(members)}")
        #expect(publication.channels.map(\.text) == channels)
    }

    @Test(
        "Strings pass through as they are written, other values become strings once",
        arguments: [
            (#""""#, #""""#), (#""a\/b\u00e9""#, #""a\/b\u00e9""#), (#""é""#, #""é""#),
            (#"{"a": [1, "x\n"]}"#, #""{\"a\": [1, \"x\\n\"]}""#), ("1.50", #""1.50""#),
            ("9007199254740993", #""9007199254740993""#), ("true", #""true""#),
            ("[]", #""[]""#),
        ]
    )
    func keepsData(data: String, token: String) throws {
        let publication = try Self.trigger("{\"name\":\"e\",\"channel\":\"c\",\"data\":\(data)}")
        #expect(text(publication.dataToken) == token)
    }

    @Test(arguments: [
        #""App\\Events\\OrderShipped""#, #"".order.shipped""#, #""client-x""#, #""pusherx""#,
        #""\u0000""#, #""😀""#, #""a b""#,
    ])
    func acceptsAnyEventName(token: String) throws {
        let publication = try Self.trigger("{\"name\":\(token),\"channel\":\"c\",\"data\":\"\"}")
        #expect(text(publication.nameToken) == token)
    }

    static let rest = #","channel":"c","data":"""#
    static let refusals: [(String, Int, String)] = [
        ("", 400, "Missing required parameter: name"),
        ("{}", 400, "Missing required parameter: name"),
        ("[]", 400, "The body must be a JSON object"),
        ("\"x\"", 400, "The body must be a JSON object"),
        ("null", 400, "The body must be a JSON object"),
        ("{", 400, "The body is not valid JSON: it ends inside a value"),
        ("{}}", 400, "The body is not valid JSON: unexpected '}' at byte 2"),
        ("nonsense", 400, "The body is not valid JSON: unexpected 'n' at byte 0"),
        (
            #"{"name":"\#u{1}"}"#, 400,
            "The body is not valid JSON: unescaped control character at byte 9"
        ),
        (#"{"channel":"c","data":""}"#, 400, "Missing required parameter: name"),
        (#"{"name":null,"channel":"c","data":""}"#, 400, "Missing required parameter: name"),
        (#"{"name":1\#(rest)}"#, 400, "name must be a string"),
        (#"{"name":""\#(rest)}"#, 400, "Invalid event name: it is empty"),
        (
            #"{"name":"pusher:x"\#(rest)}"#, 400,
            "Invalid event name: names that begin with pusher: or pusher_internal: "
                + "are reserved to the server"
        ),
        (
            #"{"name":"pusher_internal:x"\#(rest)}"#, 400,
            "Invalid event name: names that begin with pusher: or pusher_internal: "
                + "are reserved to the server"
        ),
        (
            #"{"name":"p\u0075sher:x"\#(rest)}"#, 400,
            "Invalid event name: names that begin with pusher: or pusher_internal: "
                + "are reserved to the server"
        ),
        (#"{"name":"e","channel":"c"}"#, 400, "Missing required parameter: data"),
        (#"{"name":"e","channel":"c","data":null}"#, 400, "Missing required parameter: data"),
        (#"{"name":"e","data":""}"#, 400, "Missing required parameter: channel"),
        (#"{"name":"e","data":"","channels":[]}"#, 400, "Missing required parameter: channel"),
        (#"{"name":"e","data":"","channel":null}"#, 400, "Missing required parameter: channel"),
        (#"{"name":"e","data":"","channel":7}"#, 400, "A channel must be a string"),
        (#"{"name":"e","data":"","channel":["a"]}"#, 400, "A channel must be a string"),
        (#"{"name":"e","data":"","channels":["a",null]}"#, 400, "A channel must be a string"),
        (
            #"{"name":"e","data":"","channels":{"0":"a"}}"#, 400,
            "channels must be an array of names, not an object; array_values() makes one in PHP"
        ),
        (
            #"{"name":"e","data":"","channel":"a b"}"#, 400,
            #"Invalid channel name: "a b" (the character at byte 1 is not one of "#
                + "A-Z a-z 0-9 _ - = @ , . ;)"
        ),
        (
            #"{"name":"e","data":"","channel":""}"#, 400,
            #"Invalid channel name: "" (the name is empty)"#
        ),
        (
            ##"{"name":"e","data":"","channels":["ok","#x"]}"##, 400,
            ##"Invalid channel name: "#x" (names that begin with # are reserved)"##
        ),
        (
            #"{"name":"e","data":"","channel":"c","socket_id":"x"}"#, 400,
            #"Invalid socket_id: "x" (expected digits, a dot and digits in a string)"#
        ),
        (
            #"{"name":"e","data":"","channel":"c","socket_id":1.2}"#, 400,
            #"Invalid socket_id: "1.2" (expected digits, a dot and digits in a string)"#
        ),
        (
            #"{"name":"e","data":"","channel":"c","socket_id":"1.2\n"}"#, 400,
            #"Invalid socket_id: "1.2\n" (expected digits, a dot and digits in a string)"#
        ),
        (
            #"{"name":"e","data":"","channel":"c","info":"users"}"#, 400,
            #"Unknown info attribute: "users" (known are user_count, subscription_count, cache and position)"#
        ),
        (
            #"{"name":"e","data":"","channel":"c","info":7}"#, 400,
            "info must be a string of attributes separated by commas"
        ),
        (
            #"{"name":"e","data":"","channel":"c","info":["user_count",7]}"#, 400,
            "info must be a string of attributes separated by commas"
        ),
    ]

    @Test(arguments: refusals)
    func refuses(body: String, status: Int, message: String) {
        let error = refusal(of: body)
        #expect(error == APIError(status: status, message: message))
        #expect(error.map { text($0.body) } == message + "\n")
    }

    @Test func boundsTheEventName() {
        func body(_ name: String) -> String { "{\"name\":\"\(name)\"\(Self.rest)}" }
        #expect(refusal(of: body(String(repeating: "n", count: 200))) == nil)
        #expect(
            refusal(of: body(String(repeating: "n", count: 201)))?.message
                == "Invalid event name: it has 201 characters, at most 200 are allowed"
        )
        // Characters, not bytes.
        #expect(refusal(of: body(String(repeating: "ż", count: 200))) == nil)
        #expect(refusal(of: body(String(repeating: "\\u017c", count: 200))) == nil)
        #expect(refusal(of: body(String(repeating: "😀", count: 201)))?.status == 400)
    }

    @Test("Measured as the decoded string, in bytes") func boundsTheData() {
        func body(_ data: String) -> String {
            "{\"name\":\"e\",\"channel\":\"c\",\"data\":\(data)}"
        }
        #expect(refusal(of: body("\"\(String(repeating: "x", count: 10_240))\"")) == nil)
        let message =
            "The data content of this event exceeds the allowed maximum (10240 bytes). "
            + "See https://pusher.com/docs/channels/server_api/http-api/ "
            + "- this event has 10241 bytes; "
            + "the limit is apps.N.event_data_length_max in the broker's configuration"
        #expect(
            refusal(of: body("\"\(String(repeating: "x", count: 10_241))\""))
                == APIError(status: 413, message: message)
        )
        // Six bytes when escaped; one, two or three when decoded.
        #expect(refusal(of: body("\"\(String(repeating: "\\u0061", count: 10_240))\"")) == nil)
        #expect(refusal(of: body("\"\(String(repeating: "\\u00e9", count: 5_120))\"")) == nil)
        #expect(
            refusal(of: body("\"\(String(repeating: "\\u00e9", count: 5_121))\""))?.status == 413
        )
        #expect(refusal(of: body("\"\(String(repeating: "é", count: 5_121))\""))?.status == 413)
        #expect(refusal(of: body("[\(String(repeating: "1", count: 10_238))]")) == nil)
        #expect(refusal(of: body("[\(String(repeating: "1", count: 10_239))]"))?.status == 413)
    }

    @Test func boundsTheChannels() throws {
        func body(_ count: Int) -> String {
            let list = (0..<count).map { "\"c\($0)\"" }.joined(separator: ",")
            return "{\"name\":\"e\",\"data\":\"\",\"channels\":[\(list)]}"
        }
        #expect(try Self.trigger(body(100)).channels.count == 100)
        #expect(
            refusal(of: body(101))
                == APIError(status: 400, message: "Too many channels (101 > 100)")
        )
    }

    @Test func keepsMessagesToOneShortLine() {
        let long = String(repeating: "ż", count: 5_000)
        let error = refusal(of: "{\"name\":\"e\",\"data\":\"\",\"channel\":\"\(long)\\n\"}")
        #expect(error?.message.contains("\n") == false)
        #expect((error?.message.utf8.count ?? 0) < 600)
        #expect(error?.message.hasPrefix("Invalid channel name: \"żż") == true)
    }

    @Test func boundsTheDepth() {
        let bomb = String(repeating: "[", count: 50_000)
        #expect(refusal(of: "{\"name\":\"e\",\"channel\":\"c\",\"data\":\(bomb)")?.status == 400)
    }

    @Test("A socket ID that this broker never assigns excludes no connection")
    func acceptsForeignSocketIDs() throws {
        let publication = try Self.trigger(
            #"{"name":"e","data":"","channel":"c","socket_id":"00123.99999999999999999999999"}"#
        )
        #expect(publication.except == nil)
    }

    @Test func readsInfoAsArray() throws {
        let publication = try Self.trigger(
            #"{"name":"e","data":"","channel":"c","info":["user_count","subscription_count"]}"#
        )
        #expect(publication.info == [.userCount, .subscriptionCount])
        #expect(
            try Self.trigger(#"{"name":"e","data":"","channel":"c","info":""}"#).info == []
        )
    }

    @Test func readsTheQueryWhenThereIsNoBody() throws {
        let publication = try Self.trigger(
            "",
            query: "name=e&data=%7B%22a%22%3A1%7D&channels[]=b&channels[]=a&socket_id=1.2"
        )
        #expect(publication.name == "e")
        #expect(publication.data == #"{"a":1}"#)
        #expect(publication.channels.map(\.text) == ["b", "a"])
        #expect(publication.except == SocketID(1, 2))
    }

    @Test func writesEnvelopes() throws {
        let publication = try Self.trigger(
            #"{"name":"App\\E\u00e9","data":"{\"a\":\"\/\"}","channels":["a","presence-b"]}"#
        )
        var expected = ##"{"event":"App\\E\u00e9","channel":"a","data":"{\"a\":\"\/\"}"}"##
        for channel in publication.channels {
            var envelope: [UInt8] = []
            publication.appendEnvelope(for: channel, to: &envelope)
            #expect(text(envelope) == expected)
            #expect(envelope.count == publication.envelopeLength(for: channel))
            expected = expected.replacing("\"a\",\"data", with: "\"presence-b\",\"data")
        }
    }
}

@Suite("Batches") struct BatchRequestTests {
    @Test func readsEventsInOrder() throws {
        let batch = try TriggerRequest.parseBatch(
            bytes(
                #"{"batch":[{"name":"e1","channel":"a","data":"1"},{"name":"e2","channel":"#
                    + #""presence-b","data":{"x":2},"socket_id":"1.2","info":"user_count"}],"x":1}"#
            ).span
        )
        #expect(batch.map(\.name) == ["e1", "e2"])
        #expect(batch.map { $0.channels.map(\.text) } == [["a"], ["presence-b"]])
        #expect(batch.map(\.data) == ["1", #"{"x":2}"#])
        #expect(batch.map(\.except) == [nil, SocketID(1, 2)])
        #expect(batch.map(\.info) == [[], .userCount])
    }

    static let refusals: [(String, Int, String)] = [
        ("", 400, "The body is not valid JSON: it ends inside a value"),
        ("{}", 400, "Missing required parameter: batch"),
        (#"{"batch":null}"#, 400, "Missing required parameter: batch"),
        (#"{"batch":{}}"#, 400, "batch must be an array of events"),
        (#"{"batch":[]}"#, 400, "The batch is empty"),
        ("[]", 400, "The body must be a JSON object"),
        (#"{"batch":[1]}"#, 400, "An event must be a JSON object (event 0 of the batch)"),
        (#"{"batch":[{"name":"e","data":""}]}"#, 400, "Missing required parameter: channel"),
        (
            #"{"batch":[{"name":"e","data":"","channels":["a"]}]}"#, 400,
            "Missing required parameter: channel"
        ),
        (
            #"{"batch":[{"name":"e","data":"","channel":"a"},{"channel":"a","data":""}]}"#, 400,
            "Missing required parameter: name (event 1 of the batch)"
        ),
    ]

    @Test(arguments: refusals)
    func refuses(body: String, status: Int, message: String) {
        #expect(batchRefusal(of: body) == APIError(status: status, message: message))
    }

    @Test func boundsTheNumberOfEvents() throws {
        func body(_ count: Int) -> String {
            let event = #"{"name":"e","channel":"c","data":""}"#
            return "{\"batch\":[\(Array(repeating: event, count: count).joined(separator: ","))]}"
        }
        #expect(try TriggerRequest.parseBatch(bytes(body(10)).span).count == 10)
        #expect(
            batchRefusal(of: body(11))
                == APIError(status: 400, message: "Batch too large (11 > 10)")
        )
    }

    @Test func namesTheEventThatIsTooLong() {
        let long = String(repeating: "x", count: 10_241)
        let error = batchRefusal(
            of: #"{"batch":[{"name":"e","channel":"c","data":""},"#
                + "{\"name\":\"e\",\"channel\":\"c\",\"data\":\"\(long)\"}]}"
        )
        #expect(error?.status == 413)
        #expect(error?.message.hasSuffix("(event 1 of the batch)") == true)
    }
}
