import FanfareClient
import FanfareTesting
import Testing

@MainActor
func fanfareTestingArticle() async throws {
    struct User: Codable, Sendable {
        let name: String
    }

    /// The app: a list that others add to.
    @MainActor final class UserList {
        private(set) var names: [String] = []

        init(_ client: Fanfare) {
            let channel = client.channel("userslist")
            channel.bind(EventName<User>("addUser")) { user in self.names.append(user.name) }
            channel.subscribe()
            client.connect()
        }
    }

    let broker = ScriptedBroker()
    let client = broker.client()
    let list = UserList(client)
    try await broker.waitForSubscribers(to: "userslist")
    try broker.trigger("addUser", on: "userslist", data: User(name: "Ann"))
    try await broker.settle()
    #expect(list.names == ["Ann"])
    broker.cut()
    try await broker.advance(by: .seconds(10))
    try await broker.waitForSubscribers(to: "userslist")
    #expect(list.names == ["Ann"])
    client.disconnect()
}
