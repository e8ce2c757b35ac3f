import FanfareClient

func presenceArticle() async throws {
    struct Info: Decodable {
        let name: String
    }

    var options = ClientOptions()
    options.authorization.channels = .endpoint("https://example.com/pusher/auth")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let presence = client.channel("presence-room").presence
    let changes = presence.changes
    presence.channel.subscribe()
    client.connect()
    for try await change in changes {
        for member in change.joined { print(try member.decodeInfo(Info.self).name, "is here") }
        for member in change.left { print(member.id, "has gone") }
        print(change.roster.members.count, "in the room")
    }
}
