import Dispatch
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
    private func client(_ broker: ScriptedBroker, _ user: String, info: String) -> FanfareClient {
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
        let binding = room.typing.bind { typing.append($0) }
        ann.onError { faults.append($0) }
        var texts = room.message.events().makeAsyncIterator()
        room.subscribe()
        #expect(!room.isSubscribed)
        ann.connect()
        try await room.waitUntilSubscribed()
        #expect(room.isSubscribed && room.channel == ann.channel("presence-room"))
        let other = ben.channel("presence-room", of: Room.self).subscribe()
        ben.connect()
        try await other.waitUntilSubscribed()
        #expect(try other.typing.trigger(7) == .sent)
        try broker.trigger("message", on: ["presence-room"], text: #"{"text":"hi"}"#)
        try broker.trigger("message", on: ["presence-room"], text: #"{"test":1}"#)
        try await broker.settle()
        #expect(messages == [Message(text: "hi")] && typing == [7])
        #expect(try await texts.next() == Message(text: "hi"))
        guard case .undecodable(let event, _, _)? = faults.first else {
            Issue.record("\(faults)")
            return
        }
        #expect(event.name == "message" && faults.count == 1)
        binding.unbind()
        try other.typing.trigger(8)
        try await broker.settle()
        #expect(typing == [7])
        room.unsubscribe()
        try await broker.settle()
        #expect(broker.members(of: "presence-room") == ["ben"])
        for client in [ann, ben] { client.disconnect() }
    }

    @Test func callBackOnTheirExecutors() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let news = client.channel("news", of: News.self)
        let queue = DispatchQueue(label: "test")
        let (onQueue, onExecutor) = (Seen<String>(), Seen<String>())
        var here: [String] = []
        news.headline.bind(on: queue) { headline in
            dispatchPrecondition(condition: .onQueue(queue))
            onQueue.add(headline)
        }
        news.headline.bind(on: CallbackExecutor.queue(queue)) { onExecutor.add($0) }
        news.headline.bind(isolation: MainActor.shared) { here.append($0) }
        news.subscribe()
        client.connect()
        try await news.waitUntilSubscribed()
        try broker.trigger("headline", on: ["news"], text: #""One""#)
        try await broker.settle([.main, queue])
        try await broker.wait(for: "the callbacks") { here == ["One"] }
        #expect(onQueue.all == ["One"] && onExecutor.all == ["One"])
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
        let queue = DispatchQueue(label: "test")
        let counts = Seen<Int>()
        room.onChange(on: queue) { counts.add($0.roster.count) }
        var read = room.changes().makeAsyncIterator()
        room.subscribe()
        ann.connect()
        try await room.waitUntilSubscribed()
        let ben = client(broker, "ben", info: "[]")
        ben.subscribe("presence-room")
        ben.connect()
        try await broker.waitForSubscribers(2, to: "presence-room")
        try await broker.settle([.main, queue])
        let roster = try #require(room.roster)
        #expect(roster.map(\.id) == ["ann", "ben"])
        #expect(try roster.me?.info == Profile(name: "Ann"))
        #expect(try roster[0].info.name == "Ann" && roster["ben"] == roster[1])
        #expect(throws: DecodingError.self) { try roster[1].info }
        #expect(roster["cat"] == nil && roster[1].untyped.info == "[]")
        #expect(changes.map(\.roster.count) == [1, 2])
        #expect(changes[1].joined.map(\.id) == ["ben"] && changes[1].left.isEmpty)
        #expect(counts.all == [1, 2])
        #expect(try await read.next()?.roster.count == 1)
        #expect(try await read.next()?.joined.first?.id == "ben")
        ben.disconnect()
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
        #expect(try channel.roster?.me?.info == NoMemberInfo())
        client.disconnect()
    }
}
