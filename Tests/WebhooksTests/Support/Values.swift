import Broker
import PusherProtocol

@testable import Webhooks

let appID = AppID("1")

func channel(_ name: String = "my-channel") -> ChannelName {
    do { return try ChannelName(name) } catch { preconditionFailure("\(name): \(error)") }
}

func endpoint(
    _ url: String = "http://backend.test/hooks",
    kinds: Set<WebhookKind> = Set(WebhookKind.allCases),
    prefix: String = "",
    suffix: String = "",
    headers: [String: String] = [:],
    isBatched: Bool = false
) throws -> WebhookEndpoint {
    try WebhookEndpoint(
        url: url,
        kinds: kinds,
        channelPrefix: prefix,
        channelSuffix: suffix,
        headers: headers,
        isBatched: isBatched
    )
}

func app(_ id: AppID = appID, endpoints: [WebhookEndpoint]) -> WebhookApp {
    WebhookApp(id: id, key: "key-\(id)", secret: AppSecret("secret-\(id)"), endpoints: endpoints)
}
