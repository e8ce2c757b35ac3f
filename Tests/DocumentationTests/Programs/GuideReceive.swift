import FanfareClient

func guideReceive() async throws {
    let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let subscription = client.channel("userslist").subscription()
    client.connect()
    for try await delivery in subscription.deliveries("addUser") {
        switch delivery {
        case .event(let event, _): print(event.data ?? "")
        case .gap: print("events were missed: load the list again")
        case .undecodable, .recovered: break
        }
    }
}
