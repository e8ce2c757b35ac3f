import FanfareClient

func fanfareClientArticle() async throws {
    struct User: Decodable {
        let name: String
    }

    let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let subscription = client.channel("userslist").subscription()
    client.connect()
    for try await delivery in subscription.deliveries(of: EventName<User>("addUser")) {
        switch delivery {
        case .event(let user, _): print(user.name)
        case .gap: print("events were missed: load the list again")
        case .undecodable(_, let error): print(error)
        case .recovered: break
        }
    }
}
