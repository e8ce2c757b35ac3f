import FanfareAPI

func guideEndpoint() throws {
    let api = try BrokerAPI(
        appID: "1",
        key: "app-key",
        secret: "app-secret",
        url: "http://127.0.0.1:6001"
    )

    @Sendable func mayJoin(_ user: String, _ channel: String) -> Bool {
        ["private-orders", "presence-room"].contains(channel)
    }

    /// Answers POST /pusher/auth of a user whom your session knows.
    @Sendable func answer(
        to form: [UInt8],
        of user: (id: String, name: String)
    ) -> (status: Int, json: String) {
        do {
            let request = try GrantRequest(form)
            let channel = try request.channel
            guard mayJoin(user.id, channel) else { return (403, "{}") }
            let grant = try api.authorize(
                channel,
                for: request.socketID,
                as: user.id,
                info: ["name": user.name]
            )
            return (200, grant.json)
        } catch {
            return (400, "{}")
        }
    }
}
