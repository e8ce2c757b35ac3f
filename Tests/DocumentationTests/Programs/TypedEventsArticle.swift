import FanfareClient

struct Profile: Decodable {
    let name: String
}

struct Message: Codable {
    let text: String
}

extension EventName<Message> {
    static var message: Self { Self("message") }
}

extension EventName<Bool> {
    static var typing: Self { Self("client-typing") }
}

func typedEventsArticle() async throws {
    var options = ClientOptions()
    options.authorization.channels = .endpoint("https://example.com/pusher/auth")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let room = client.channel("presence-room")
    room.bind(.typing) { isTyping in print(isTyping ? "…" : "") }
    room.presence.onJoin { member in
        let profile = try? member.decodeInfo(Profile.self)
        print(profile?.name ?? member.id, "is here")
    }
    let messages = room.subscription().events(of: .message)
    client.connect()
    try room.trigger(.typing, true)
    for try await message in messages { print(message.text) }
}
