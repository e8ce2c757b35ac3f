import PusherProtocol
import Testing

@Suite("Channel queries and info attributes") struct ChannelQueriesTests {
    static func refusal(_ body: () throws(APIError) -> Void) -> APIError? {
        do throws(APIError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    static let presenceOnly =
        "user_count may only be requested for presence channels - "
        + "please supply filter_by_prefix begining with presence-"
    static let countingOff =
        "subscription_count may only be requested when subscription counting is enabled for the app"

    @Test(
        arguments: [
            ("", false, nil), ("filter_by_prefix=presence-&info=user_count", false, nil),
            ("filter_by_prefix=presence-x&info=user_count", false, nil), ("other=1", false, nil),
            ("info=user_count", false, presenceOnly),
            ("info=user_count&filter_by_prefix=private-", false, presenceOnly),
            ("info=user_count&filter_by_prefix=presence", false, presenceOnly),
            ("info=subscription_count", true, nil), ("info=subscription_count", false, countingOff),
            ("info=cache", true, "cache may only be requested for a single channel"),
            (
                "info=foo", true,
                #"Unknown info attribute: "foo" (known are user_count, subscription_count, cache and position)"#
            ),
            (
                "filter_by_prefix=" + String(repeating: "x", count: 201), true,
                "filter_by_prefix too long (201 > 200)"
            ),
            ("limit=1&cursor=chat-1", false, nil), ("cursor=chat-1", false, nil),
            ("limit=0", false, #"Invalid limit: "0" (it must be 1 or more)"#),
            ("limit=-1", false, #"Invalid limit: "-1" (it must be 1 or more)"#),
            ("limit=ten", false, #"Invalid limit: "ten" (it must be 1 or more)"#),
            ("limit=", false, #"Invalid limit: "" (it must be 1 or more)"#),
            (
                "limit=99999999999999999999", false,
                #"Invalid limit: "99999999999999999999" (it must be 1 or more)"#
            ),
            (
                "cursor=" + String(repeating: "x", count: 201), true,
                "cursor too long (201 > 200)"
            ),
        ] as [(String, Bool, String?)]
    )
    func validatesLists(query: String, countsSubscriptions: Bool, message: String?) {
        let error = Self.refusal { () throws(APIError) in
            _ = try ChannelsQuery(
                QueryParameters(query),
                countsSubscriptions: countsSubscriptions
            )
        }
        #expect(error == message.map { APIError(status: 400, message: $0) })
    }

    @Test func readsLists() throws {
        let query = try ChannelsQuery(
            QueryParameters("info=user_count,subscription_count&filter_by_prefix=presence-"),
            countsSubscriptions: true
        )
        #expect(query.prefix == "presence-")
        #expect(query.info == [.userCount, .subscriptionCount])
        #expect(query.limit == nil && query.cursor == "")
    }

    @Test func readsPages() throws {
        let query = try ChannelsQuery(
            QueryParameters("limit=1000&cursor=chat%2D1"),
            countsSubscriptions: true
        )
        #expect(query.limit == 1_000 && query.cursor == "chat-1")
    }

    @Test(
        arguments: [
            ("info=user_count", ChannelKind.presence, nil),
            ("info=user_count,cache", .presenceCache, nil), ("info=cache", .cache, nil),
            ("info=subscription_count", .public, nil), ("info=subscription_count", .presence, nil),
            ("", .public, nil),
            (
                "info=user_count", .public,
                "Cannot retrieve the user count unless the channel is a presence channel"
            ),
            (
                "info=cache", .private,
                "Cannot retrieve the cache unless the channel is a cache channel"
            ),
        ] as [(String, ChannelKind, String?)]
    )
    func validatesSingleChannels(query: String, kind: ChannelKind, message: String?) {
        let error = Self.refusal { () throws(APIError) in
            _ = try ChannelQuery(QueryParameters(query), kind: kind, countsSubscriptions: true)
        }
        #expect(error == message.map { APIError(status: 400, message: $0) })
    }

    @Test func validatesTriggers() {
        func message(_ info: InfoAttributes, _ countsSubscriptions: Bool) -> String? {
            Self.refusal { () throws(APIError) in
                try info.checkForTrigger(countsSubscriptions: countsSubscriptions)
            }?.message
        }
        #expect(message([.userCount, .subscriptionCount], true) == nil)
        #expect(message(.userCount, false) == nil)
        #expect(message(.subscriptionCount, false) == Self.countingOff)
        #expect(message(.cache, true) == "cache may only be requested for a single channel")
    }

    @Test func omitsAttributesThatAChannelDoesNotHave() {
        let all: InfoAttributes = [.userCount, .subscriptionCount, .cache]
        #expect(all.applying(to: .public) == .subscriptionCount)
        #expect(all.applying(to: .presence) == [.userCount, .subscriptionCount])
        #expect(all.applying(to: .presenceCache) == all)
    }

    @Test(
        arguments: [
            ("auth_key=1&auth_signature=2&body_md5=3", ChannelKind.presence, nil),
            ("", .public, "Users can only be retrieved for presence channels"),
            ("", .private, "Users can only be retrieved for presence channels"),
            (
                "auth_key=1&info=x&b=%0A", .presence,
                "The following query string parameters are extraneous: b, info"
            ),
        ] as [(String, ChannelKind, String?)]
    )
    func validatesUsers(query: String, kind: ChannelKind, message: String?) {
        let error = Self.refusal { () throws(APIError) in
            try UsersQuery.check(QueryParameters(query), kind: kind)
        }
        #expect(error == message.map { APIError(status: 400, message: $0) })
    }
}

@Suite("Responses of the HTTP API") struct APIAnswerTests {
    @Test func areAlwaysObjects() throws {
        #expect(text(APIAnswer.empty) == "{}")
        #expect(text(APIAnswer.channels([])) == #"{"channels":{}}"#)
        #expect(text(APIAnswer.users([])) == #"{"users":[]}"#)
        #expect(text(APIAnswer.batch([nil, nil])) == "{}")
        #expect(text(APIAnswer.batch([])) == "{}")
    }

    @Test func listChannels() throws {
        let answer = APIAnswer.channels([
            (try ChannelName("presence-x"), ChannelAttributes(userCount: 42)),
            (try ChannelName("ch-1"), ChannelAttributes(subscriptionCount: 13)),
            (try ChannelName("ch-2"), ChannelAttributes()),
        ])
        #expect(
            text(answer) == #"{"channels":{"presence-x":{"user_count":42},"#
                + #""ch-1":{"subscription_count":13},"ch-2":{}}}"#
        )
    }

    @Test func describeOneChannel() {
        let cached = ChannelAttributes(
            isOccupied: true,
            userCount: 2,
            subscriptionCount: 42,
            cache: .event(dataToken: bytes(#""event \"data\"""#), secondsLeft: 60)
        )
        #expect(
            text(APIAnswer.channel(cached)) == #"{"occupied":true,"user_count":2,"#
                + #""subscription_count":42,"cache":{"data":"event \"data\"","ttl":60}}"#
        )
        let vacant = ChannelAttributes(isOccupied: false, cache: .empty)
        #expect(text(APIAnswer.channel(vacant)) == #"{"occupied":false,"cache":null}"#)
    }

    @Test func keepTheOrderOfABatch() {
        let answer = APIAnswer.batch([nil, ChannelAttributes(userCount: 1), ChannelAttributes()])
        #expect(text(answer) == #"{"batch":[{},{"user_count":1},{}]}"#)
    }

    @Test func listUsersByTheirIDs() {
        #expect(text(APIAnswer.users(["1", "2"])) == #"{"users":[{"id":"1"},{"id":"2"}]}"#)
    }
}
