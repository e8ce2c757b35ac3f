import FanfareClient

func lostConnectionsArticle() async throws {
    actor Backend {
        func orders() async throws -> [String] { ["Soup"] }
    }

    let backend = Backend()
    let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let subscription = client.channel("orders").subscription()
    client.connect()
    let ordered = EventName<String>("ordered")
    var orders: [String] = []
    for try await delivery in subscription.deliveries(of: ordered, behind: backend.orders) {
        switch delivery {
        case .state(let all): orders = all
        case .event(let order, _): orders.append(order)
        case .undecodable(_, let error): print(error)
        }
        print(orders)
    }
}
