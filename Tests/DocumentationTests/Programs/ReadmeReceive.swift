import FanfareClient

func readmeReceive() async throws {
    let client = FanfareClient(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let users = client.channel("userslist").events("addUser")
    client.subscribe("userslist")
    client.connect()
    for try await event in users {
        print(event.data ?? "")
    }
}
