import FanfareClient

func authorisationArticle() async throws {
    struct Login {
        func token() async -> String { "…" }
    }

    let login = Login()
    var options = ClientOptions()
    options.authorization.channels = .endpoint(
        AuthorizationEndpoint("https://example.com/pusher/auth") { _ in
            ["Authorization": "Bearer \(await login.token())"]
        }
    )
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let channel = client.subscribe("private-orders")
    client.connect()
    do {
        try await channel.waitUntilSubscribed()
    } catch {
        print(error)
    }
}
