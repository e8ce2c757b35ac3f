import FanfareClient

func readmeReceive() {
    let client = FanfareClient(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let users = client.channel("userslist")
    users.bind("addUser") { event in print(event.data ?? "") }
    users.subscribe()
    client.connect()
}
