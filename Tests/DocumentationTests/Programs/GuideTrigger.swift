import FanfareAPI

func guideTrigger() async throws {
    let api = try BrokerAPI(
        appID: "1",
        key: "app-key",
        secret: "app-secret",
        url: "http://127.0.0.1:6001"
    )
    try await api.trigger("addUser", on: "userslist", data: ["name": "Ann"])
}
