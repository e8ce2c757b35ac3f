import FanfareClient

func fanfareClientPins() throws {
    var options = ClientOptions()
    options.network.trust = .system.pinned(to: [
        try KeyPin("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
        try KeyPin("sha256/uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek="),
    ])
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "realtime.example.com"),
        options: options
    )
    client.connect()
}
