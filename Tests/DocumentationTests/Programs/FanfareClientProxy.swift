import FanfareClient

func fanfareClientProxy() {
    var options = ClientOptions()
    options.network.proxy = .http(
        host: "proxy.example.com",
        port: 3128,
        user: "anna",
        password: "…"
    )
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "realtime.example.com"),
        options: options
    )
    client.connect()
}
