import FanfareAPI

func fanfareAPIArticle() async throws {
    struct User: Encodable {
        let name: String
    }

    let api = try BrokerAPI(
        appID: "1",
        key: "app-key",
        secret: "app-secret",
        url: "http://127.0.0.1:6001"
    )
    do {
        try await api.trigger("addUser", on: "userslist", data: User(name: "Ann"))
    } catch {
        print(error.mayHaveArrived ? "Perhaps triggered. \(error)" : "Not triggered. \(error)")
    }
}
