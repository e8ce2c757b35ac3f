import FanfareClient

func usersArticle() async throws {
    var options = ClientOptions()
    options.authorization.user = .endpoint("https://example.com/pusher/user-auth")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    client.user.bind("message") { event in print(event.data ?? "") }
    client.user.onWatchlistChange { change in
        for user in change.online { print(user, "is online") }
        for user in change.offline { print(user, "is offline") }
    }
    client.signIn()
    client.connect()
    let user = try await client.waitUntilSignedIn()
    print("signed in as", user.id)
}
