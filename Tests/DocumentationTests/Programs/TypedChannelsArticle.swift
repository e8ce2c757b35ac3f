import FanfareClient

func typedChannelsArticle() async throws {
    struct Profile: Decodable {
        let name: String
    }
    struct Message: Codable {
        let text: String
    }
    struct Room: ChannelSchema {
        typealias MemberInfo = Profile
        let message = EventName<Message>("message")
        let typing = EventName<Bool>("client-typing")
    }

    var options = ClientOptions()
    options.channelAuthorizer = .endpoint("https://example.com/pusher/auth")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let room = client.channel("presence-room", of: Room.self)
    room.typing.bind { isTyping in print(isTyping ? "…" : "") }
    room.onChange { change in
        for member in change.joined { print((try? member.info.name) ?? member.id, "is here") }
    }
    let messages = room.message.deliveries()
    client.connect()
    try room.typing.trigger(true)
    for try await delivery in messages {
        switch delivery {
        case .event(let message, _): print(message.text, "is for", room.roster?.count ?? 0)
        case .gap: print("messages were missed: load the latest")
        case .undecodable(_, let error): print(error)
        case .recovered: break
        }
    }
}
