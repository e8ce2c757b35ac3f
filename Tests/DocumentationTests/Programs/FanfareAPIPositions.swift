import FanfareAPI

func fanfareAPIPositions() async throws {
    let api = try BrokerAPI(
        appID: "1",
        key: "app-key",
        secret: "app-secret",
        url: "http://127.0.0.1:6001"
    )
    let position = try await api.channel("board", info: [.position]).position
    try await api.trigger("move", on: "board", data: ["to": "e4"], ifPosition: position)
    try await api.trigger("cursor", on: "board", data: ["x": 7], ephemeral: true)
    for message in try await api.history(of: "board", order: .newest, limit: 10).messages {
        print(message.serial, message.event, message.data ?? "")
    }
}
