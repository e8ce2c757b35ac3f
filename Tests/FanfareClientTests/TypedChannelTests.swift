import FanfareClient
import FanfareTesting
import Testing

private struct Message: Codable, Sendable, Hashable {
    var text: String
}

private struct Profile: Decodable, Sendable, Hashable {
    var name: String
}

private struct Room: ChannelSchema {
    typealias MemberInfo = Profile
    let message = EventName<Message>("message")
    let typing = EventName<Int>("client-typing")
}

private struct News: ChannelSchema {
    let headline = EventName<String>("headline")
}

@Suite("Channels with types", .timeLimit(.minutes(1))) @MainActor
struct TypedChannelTests {
    /// Returns a client whose user has a name as user information.
    private func client(_ broker: ScriptedBroker, _ user: String, info: String) -> Fanfare {
        broker.client { options in
            options.channelAuthorizer = ChannelAuthorizer { [weak broker] request, channel in
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

    @Test("Events of the schema are received and sent with their types")
    func receiveAndSendTypedEvents() async throws {
        let broker = ScriptedBroker()
        let (ann, ben) = (broker.client(as: "ann"), broker.client(as: "ben"))
        let room = ann.channel("presence-room", of: Room.self)
        var (messages, typing, faults): ([Message], [Int], [FanfareError]) = ([], [], [])
        room.message.bind { messages.append($0) }
        let token = room.typing.bind { typing.append($0) }
        ann.onError { faults.append($0) }
        var texts = room.message.deliveries().makeAsyncIterator()
        room.subscribe()
        #expect(!room.isSubscribed)
        ann.connect()
        try await room.waitUntilSubscribed()
        #expect(room.isSubscribed && room.channel == ann.channel("presence-room"))
        let other = ben.channel("presence-room", of: Room.self).subscribe()
        ben.connect()
        try await other.waitUntilSubscribed()
        #expect(try await other.typing.trigger(7).delivery() == .accepted)
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
        try other.typing.trigger(8)
        try await broker.settle()
        #expect(typing == [7])
        // The sequence has a lease of its own.
        room.unsubscribe()
        try await broker.settle()
        #expect(broker.members(of: "presence-room") == ["ann", "ben"])
        texts = ben.channel("presence-room", of: Room.self).message.deliveries().makeAsyncIterator()
        try await broker.settle()
        #expect(broker.members(of: "presence-room") == ["ben"])
        for client in [ann, ben] { client.disconnect() }
    }

    @Test("Callbacks run on the actor that they are isolated to")
    func callBackOnTheirActors() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let news = client.channel("news", of: News.self)
        let elsewhere = Seen<String>()
        var here: [String] = []
        news.headline.bind { here.append($0) }
        let perform: @Sendable (String) -> Void = { elsewhere.add($0) }
        news.headline.bind(perform: perform)
        news.subscribe()
        client.connect()
        try await news.waitUntilSubscribed()
        try broker.trigger("headline", on: ["news"], text: #""One""#)
        try await broker.wait(for: "the callback") { here == ["One"] }
        await elsewhere.wait(for: 1)
        client.disconnect()
    }

    @Test("Members have typed information, and invalid information throws")
    func knowTheirMembers() async throws {
        var settings = ScriptedBroker.Settings()
        settings.authorization = .signed
        let broker = ScriptedBroker(settings)
        let ann = client(broker, "ann", info: #"{"name":"Ann"}"#)
        let room = ann.channel("presence-room", of: Room.self)
        #expect(room.roster == nil)
        var changes: [RosterChange<Profile>] = []
        room.onChange { changes.append($0) }
        let counts = Seen<Int>()
        room.onChange { counts.add($0.roster.count) }
        var read = room.changes.makeAsyncIterator()
        room.subscribe()
        ann.connect()
        try await room.waitUntilSubscribed()
        let ben = client(broker, "ben", info: "[]")
        ben.subscribe("presence-room")
        ben.connect()
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle()
        await counts.wait(for: 2)
        let roster = try #require(room.roster)
        #expect(roster.map(\.id) == ["ann", "ben"])
        #expect(try roster.me?.info == Profile(name: "Ann"))
        #expect(try roster[0].info.name == "Ann" && roster["ben"] == roster[1])
        #expect(throws: DecodingError.self) { try roster[1].info }
        #expect(roster["cat"] == nil && roster[1].untyped.info == "[]")
        #expect(changes.map(\.roster.count) == [1, 2])
        #expect(changes[1].joined.map(\.id) == ["ben"] && changes[1].left.isEmpty)
        #expect(counts.all == [1, 2])
        // A reader that is behind gets one change to the current members.
        #expect(try await read.next()?.roster.count == 2)
        ben.disconnect()
        #expect(try await read.next()?.left.first?.id == "ben")
        try await broker.settle()
        #expect(changes.last?.left.map(\.id) == ["ben"])
        ann.disconnect()
    }

    @Test func haveMembersWithoutInformationByDefault() async throws {
        let broker = ScriptedBroker()
        let client = broker.client(as: "ann")
        let channel = client.channel("presence-news", of: News.self).subscribe()
        client.connect()
        try await channel.waitUntilSubscribed()
        #expect(try channel.roster?.me?.info != nil)
        client.disconnect()
    }
}
