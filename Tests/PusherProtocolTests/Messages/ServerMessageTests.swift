import PusherProtocol
import Testing

@Suite("Messages to clients") struct ServerMessageTests {
    /// The exact bytes: a string where clients expect an object, or the reverse, is the most common incompatibility.
    static let messages: [(ServerMessage, String)] = [
        (
            .connectionEstablished(socketID: SocketID(123, 456), activityTimeout: 120),
            #"{"event":"pusher:connection_established","#
                + #""data":"{\"socket_id\":\"123.456\",\"activity_timeout\":120}"}"#
        ),
        (
            .error(code: .clientEventRejected, message: "Client event rejected due to rate limit"),
            #"{"event":"pusher:error","data":{"code":4301,"#
                + #""message":"Client event rejected due to rate limit"}}"#
        ),
        (
            .error(code: nil, message: "say \"x\"\n"),
            #"{"event":"pusher:error","data":{"code":null,"message":"say \"x\"\n"}}"#
        ),
        (.ping, #"{"event":"pusher:ping","data":{}}"#),
        (.pong, #"{"event":"pusher:pong","data":{}}"#),
        (
            .subscriptionSucceeded(channel: "private-x", data: "{}"),
            #"{"event":"pusher_internal:subscription_succeeded","channel":"private-x","data":"{}"}"#
        ),
        (
            .subscriptionSucceeded(
                channel: "presence-x",
                data: #"{"presence":{"ids":["1"],"hash":{"1":null},"count":1}}"#
            ),
            #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-x","data":"#
                + #""{\"presence\":{\"ids\":[\"1\"],\"hash\":{\"1\":null},\"count\":1}}"}"#
        ),
        (
            .subscriptionError(
                channel: "private-x",
                type: "AuthError",
                message: "No",
                status: 401
            ),
            #"{"event":"pusher:subscription_error","channel":"private-x","#
                + #""data":"{\"type\":\"AuthError\",\"error\":\"No\",\"status\":401}"}"#
        ),
        (
            .subscriptionCount(channel: "my-channel", count: 3),
            #"{"event":"pusher_internal:subscription_count","channel":"my-channel","#
                + #""data":"{\"subscription_count\":3}"}"#
        ),
        (
            .memberAdded(channel: "presence-room", userID: "u-1", userInfo: #"{"name":"Ann"}"#),
            #"{"event":"pusher_internal:member_added","channel":"presence-room","#
                + #""data":"{\"user_id\":\"u-1\",\"user_info\":{\"name\":\"Ann\"}}"}"#
        ),
        (
            .memberAdded(channel: "presence-room", userID: "10", userInfo: nil),
            #"{"event":"pusher_internal:member_added","channel":"presence-room","#
                + #""data":"{\"user_id\":\"10\"}"}"#
        ),
        (
            .memberRemoved(channel: "presence-room", userID: "u-1"),
            #"{"event":"pusher_internal:member_removed","channel":"presence-room","#
                + #""data":"{\"user_id\":\"u-1\"}"}"#
        ),
        (
            .cacheMiss(channel: "cache-x"),
            #"{"event":"pusher:cache_miss","channel":"cache-x","data":"{}"}"#
        ),
        (
            .signinSuccess(userData: #"{"id":"1"}"#),
            #"{"event":"pusher:signin_success","data":{"user_data":"{\"id\":\"1\"}"}}"#
        ),
        (
            .watchlist(online: ["u-2"], offline: ["u-3", "u-4"]),
            #"{"event":"pusher_internal:watchlist_events","data":{"events":["#
                + #"{"name":"online","user_ids":["u-2"]},"#
                + #"{"name":"offline","user_ids":["u-3","u-4"]}]}}"#
        ),
        (
            .watchlist(online: [], offline: ["u-3"]),
            #"{"event":"pusher_internal:watchlist_events","data":{"events":["#
                + #"{"name":"offline","user_ids":["u-3"]}]}}"#
        ),
        (
            .event(
                ReceivedEvent(
                    name: "my-event",
                    channel: "my-channel",
                    data: #"{"hello":"world"}"#
                )
            ),
            #"{"event":"my-event","channel":"my-channel","data":"{\"hello\":\"world\"}"}"#
        ),
        (
            .event(
                ReceivedEvent(
                    name: "client-x",
                    channel: "presence-x",
                    data: nil,
                    userID: "u-1"
                )
            ),
            #"{"event":"client-x","channel":"presence-x","user_id":"u-1"}"#
        ),
    ]

    @Test(arguments: messages)
    func writesTheBytesThatClientsRead(message: ServerMessage, expected: String) {
        #expect(text(message.bytes) == expected)
    }

    @Test(arguments: messages)
    func readsWhatItWrites(message: ServerMessage, written: String) throws {
        #expect(try ServerMessage.parse(bytes(written).span) == message)
    }

    @Test(
        "Takes the forms of other servers",
        arguments: [
            (
                #"{"event":"pusher:connection_established","data":{"socket_id":"1.2","activity_timeout":30}}"#,
                ServerMessage.connectionEstablished(socketID: SocketID(1, 2), activityTimeout: 30)
            ),
            (
                #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"no\"}"}"#,
                .error(code: .unauthorized, message: "no")
            ),
            (
                #"{"event":"pusher:error","data":{"message":"no"}}"#,
                .error(code: nil, message: "no")
            ),
            (#"{"event":"pusher:pong"}"#, .pong),
            (
                #"{"event":"pusher_internal:subscription_succeeded","channel":"x"}"#,
                .subscriptionSucceeded(channel: "x", data: "{}")
            ),
            (
                #"{"event":"pusher_internal:member_added","channel":"presence-x","data":"{\"user_id\":10}"}"#,
                .memberAdded(channel: "presence-x", userID: "10", userInfo: nil)
            ),
            (
                #"{"event":"x","channel":"c","data":{"a": 1},"serial":7,"user_id":null}"#,
                .event(ReceivedEvent(name: "x", channel: "c", data: #"{"a": 1}"#, serial: 7))
            ),
            (
                #"{"event":"x","channel":"c","data":null}"#,
                .event(ReceivedEvent(name: "x", channel: "c", data: nil))
            ),
        ]
    )
    func reads(message: String, expected: ServerMessage) throws {
        #expect(try ServerMessage.parse(bytes(message).span) == expected)
    }

    @Test(arguments: [
        #"{"event":"pusher:connection_established","data":"{}"}"#,
        #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"x\",\"activity_timeout\":1}"}"#,
        #"{"event":"pusher:error","data":"text"}"#,
        #"{"event":"pusher_internal:subscription_succeeded"}"#,
        #"{"event":"pusher_internal:member_added","channel":"x","data":"{}"}"#,
        #"{"event":"pusher_internal:watchlist_events","data":{"events":[7]}}"#,
        #"{"event":"pusher:new_thing","data":{}}"#,
    ])
    func returnsMalformedControlEventsAsEvents(message: String) throws {
        guard case .event = try ServerMessage.parse(bytes(message).span) else {
            Issue.record("expected an event: \(message)")
            return
        }
    }

    @Test(arguments: [
        ("", MessageError.json(.unexpectedEnd)), ("[]", .notAnObject), ("{}", .missing("event")),
        (#"{"event":1}"#, .notAString("event")),
    ])
    func refuses(message: String, error: MessageError) {
        #expect(throws: error) { try ServerMessage.parse(bytes(message).span) }
    }
}
