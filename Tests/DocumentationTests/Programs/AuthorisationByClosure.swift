import FanfareClient

func authorisationByClosure() {
    struct Session {
        func sign(_ socketID: String, _ channel: String) async throws -> String { "app-key:…" }
    }

    let session = Session()
    var options = ClientOptions()
    options.authorization.channels = ChannelAuthorizer { request, channel in
        ChannelAuthorization(auth: try await session.sign(request.socketID, channel))
    }
    let client = Fanfare(
        key: "app-key",
        endpoint: .plain(host: "127.0.0.1"),
        options: options
    )
    client.subscribe("private-orders")
    client.connect()
}
