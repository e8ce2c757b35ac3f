import FanfareClient

func guideAway() async throws {
    let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let news = client.channel("news").subscription()
    client.connect()
    for try await delivery in news.deliveries("new") {
        switch delivery {
        case .event(let event, _): print(event.data ?? "")
        case .recovered(let count): print("\(count) events while you were away")
        case .gap(let gap): print("events are missing:", gap.reason)
        case .undecodable: break
        }
    }
}
