import FanfareClient
import FanfareStorage

func fanfareStorageClient() async throws {
    var options = ClientOptions()
    options.authorization.channels = .endpoint("https://example.com/pusher/auth")
    options.recovery.outbox = try SQLiteOutbox(path: "client-events.sqlite")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let channel = client.channel("private-chat")
    channel.subscribe()
    client.connect()
    try channel.trigger("client-message", ["text": "Hello"])
    print(client.pendingEvents.count, "messages wait")
}
