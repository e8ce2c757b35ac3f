import FanfareAPI
import FanfareEncryption

func fanfareAPIEncryption() async throws {
    var settings = BrokerAPI.Settings()
    settings.sealer = try MasterKey(base64: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    let api = try BrokerAPI(
        appID: "1",
        key: "app-key",
        secret: "app-secret",
        url: "http://127.0.0.1:6001",
        settings: settings
    )
    try await api.trigger("new", on: "private-encrypted-orders", data: ["id": 7])
}
