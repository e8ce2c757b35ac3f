import FanfareClient

func clientEventsArticle() throws {
    struct Typing: Codable {
        let isTyping: Bool
    }

    var options = ClientOptions()
    options.authorization.channels = .endpoint("https://example.com/pusher/auth")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let typing = EventName<Typing>("client-typing")
    let channel = client.channel("presence-room")
    channel.bind(typing) { typing in print(typing.isTyping) }
    channel.subscribe()
    client.connect()
    try channel.trigger(typing, Typing(isTyping: true))
}
