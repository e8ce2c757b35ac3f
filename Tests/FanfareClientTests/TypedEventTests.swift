import FanfareClient
import FanfareTesting
import Testing

private struct Message: Codable, Sendable, Hashable {
    var text: String
}

private struct Profile: Decodable, Sendable, Hashable {
    var name: String
}

extension EventName<Message> {
    fileprivate static var message: Self { Self("message") }
}

extension EventName<Int> {
    fileprivate static var typing: Self { Self("client-typing") }
}

extension EventName<String> {
    fileprivate static var headline: Self { Self("headline") }
}

@Suite("Events with types", .timeLimit(.minutes(1))) @MainActor
struct TypedEventTests {
    /// Returns a client whose user has a name as user information.
    private func client(_ broker: ScriptedBroker, _ user: String, info: String) -> Fanfare {
        broker.client { options in
            options.authorization.channels = ChannelAuthorizer { [weak broker] request, channel in
                let data = #"{"user_id":"\#(user)","user_info":\#(info)}"#
                let auth = try broker?.authorization(
                    of: request.socketID,
                    for: channel,
                    as: data
                )
                return ChannelAuthorization(auth: auth ?? "", channelData: data)
            }
        }
    }

    @Test("Events are received and sent with the types of their names")
    func receiveAndSendTypedEvents() async throws {
        let broker = ScriptedBroker()
        let (ann, ben) = (broker.client(as: "ann"), broker.client(as: "ben"))
        let room = ann.channel("presence-room")
        var (messages, typing, faults): ([Message], [Int], [FanfareError]) = ([], [], [])
        room.bind(.message) { messages.append($0) }
        let token = room.bind(.typing) { typing.append($0) }
        ann.onError { faults.append($0) }
        var texts = room.subscription().deliveries(of: .message).makeAsyncIterator()
        room.subscribe()
        #expect(!room.isSubscribed)
        ann.connect()
        try await room.waitUntilSubscribed()
        #expect(room.isSubscribed)
        let other = ben.subscribe("presence-room")
        ben.connect()
        try await other.waitUntilSubscribed()
        #expect(try await other.trigger(.typing, 7).delivery() == .accepted)
        try broker.trigger("message", on: ["presence-room"], text: #"{"text":"hi"}"#)
        try broker.trigger("message", on: ["presence-room"], text: #"{"test":1}"#)
        try await broker.settle()
        #expect(messages == [Message(text: "hi")] && typing == [7])
        #expect(try await texts.event() == Message(text: "hi"))
        guard case .undecodable(let raw, let fault) = try await texts.next() else {
            Issue.record("the second message should be undecodable")
            return
        }
        #expect(raw.data == #"{"test":1}"# && fault.code == .undecodable)
        #expect(faults.map(\.code) == [.undecodable] && faults.first?.event?.name == "message")
        token.cancel()
        try other.trigger(.typing, 8)
        try await broker.settle()
        #expect(typing == [7])
        // The sequence has a lease of its own.
        room.unsubscribe()
        try await broker.settle()
        #expect(broker.members(of: "presence-room") == ["ann", "ben"])
        texts = other.subscription().deliveries(of: .message).makeAsyncIterator()
        try await broker.settle()
        #expect(broker.members(of: "presence-room") == ["ben"])
        for client in [ann, ben] { client.disconnect() }
    }

    @Test("Plain events have no gaps, and data that cannot be decoded is reported")
    func readPlainEvents() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        var faults: [FanfareError] = []
        client.onError { faults.append($0) }
        let subscription = client.channel("news").subscription()
        var all = subscription.events().makeAsyncIterator()
        var texts = subscription.events("headline").makeAsyncIterator()
        var headlines = subscription.events(of: .headline).makeAsyncIterator()
        client.connect()
        try await broker.waitForSubscribers(to: "news")
        #expect(try await all.next()?.name == "pusher:subscription_succeeded")
        for text in [#""One""#, "1"] {
            try broker.trigger("headline", on: ["news"], text: text)
        }
        broker.restart()
        try await broker.advance(by: .seconds(3))
        try await broker.waitForSubscribers(to: "news")
        try broker.trigger("headline", on: ["news"], text: #""Two""#)
        #expect(try await headlines.next() == "One")
        #expect(try await headlines.next() == "Two")
        try await broker.settle()
        let undecodable = faults.filter { $0.code == .undecodable }
        #expect(undecodable.map { $0.event?.data } == ["1"], "\(faults)")
        for text in [#""One""#, "1", #""Two""#] {
            #expect(try await texts.next()?.data == text)
        }
        // The iterators hold the lease, and end with it.
        subscription.cancel()
        #expect(try await headlines.next() == nil)
        client.disconnect()
    }

    @Test("Callbacks run on the actor that they are isolated to")
    func callBackOnTheirActors() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let news = client.channel("news")
        let elsewhere = Seen<String>()
        var here: [String] = []
        news.bind(.headline) { here.append($0) }
        let perform: @Sendable (String) -> Void = { elsewhere.add($0) }
        news.bind(.headline, perform: perform)
        news.subscribe()
        client.connect()
        try await news.waitUntilSubscribed()
        try broker.trigger("headline", on: ["news"], text: #""One""#)
        try await broker.wait(for: "the callback") { here == ["One"] }
        await elsewhere.wait(for: 1)
        client.disconnect()
    }

    @Test("Information of a member that has another type throws")
    func knowTheirMembers() async throws {
        var settings = ScriptedBroker.Settings()
        settings.authorization = .signed
        let broker = ScriptedBroker(settings)
        let ann = client(broker, "ann", info: #"{"name":"Ann"}"#)
        let presence = ann.channel("presence-room").presence
        #expect(presence.roster == nil)
        let counts = Seen<Int>()
        presence.onChange { counts.add($0.roster.members.count) }
        var read = presence.changes.makeAsyncIterator()
        presence.channel.subscribe()
        ann.connect()
        try await presence.channel.waitUntilSubscribed()
        let ben = client(broker, "ben", info: "[]")
        ben.subscribe("presence-room")
        ben.connect()
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle()
        await counts.wait(for: 2)
        let roster = try #require(presence.roster)
        #expect(roster.members.map(\.id) == ["ann", "ben"])
        #expect(try roster.me?.decodeInfo() == Profile(name: "Ann"))
        #expect(throws: DecodingError.self) { try roster["ben"]?.decodeInfo(Profile.self) }
        #expect(roster["cat"] == nil && roster["ben"]?.info == "[]")
        #expect(counts.all == [1, 2])
        // A reader that is behind gets one change to the current members.
        #expect(try await read.next()?.roster.members.count == 2)
        ben.disconnect()
        #expect(try await read.next()?.left.first?.id == "ben")
        ann.disconnect()
    }
}
