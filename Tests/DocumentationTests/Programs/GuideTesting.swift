import FanfareClient
import FanfareTesting

func guideTesting() async throws {
    let broker = ScriptedBroker()
    let client = broker.client()
    let users = client.channel("userslist").subscription().deliveries("addUser")
    client.connect()
    try await broker.waitForSubscribers(to: "userslist")
    broker.cut()
    try broker.trigger("addUser", on: "userslist", data: ["name": "Ann"])
    try await broker.advance(by: .seconds(10))
    for try await delivery in users {
        guard case .event(let event, _) = delivery else { continue }
        print(event.data ?? "")
        break
    }
}
