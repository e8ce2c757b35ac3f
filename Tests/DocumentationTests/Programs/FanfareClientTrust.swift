import FanfareClient

func fanfareClientTrust() {
    var options = ClientOptions()
    options.network.trust = .file("/etc/company/authority.pem")
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "realtime.example.com"),
        options: options
    )
    client.connect()
}
