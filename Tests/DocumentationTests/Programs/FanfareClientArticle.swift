import FanfareClient

func fanfareClientArticle() async throws {
    struct User: Decodable {
        let name: String
    }

    let client = FanfareClient(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let channel = client.channel("userslist")
    let users = channel.events(EventName<User>("addUser"))
    channel.subscribe()
    client.connect()
    try await channel.waitUntilSubscribed()
    for try await user in users {
        print(user.name)
    }
}
