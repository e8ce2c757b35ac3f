import FanfareClient
import FanfareTesting

func readmeTesting() async throws {
    let broker = ScriptedBroker()
    let client = broker.client()
    let channel = client.channel("userslist")
    let users = channel.events("addUser")
    channel.subscribe()
    client.connect()
    try await broker.waitForSubscribers(to: "userslist")
    broker.cut()
    try await broker.advance(by: .seconds(31))
    try await broker.waitForSubscribers(to: "userslist")
    try broker.trigger("addUser", on: "userslist", data: ["name": "Ann"])
    for try await event in users {
        print(event.data ?? "")
        break
    }
}
