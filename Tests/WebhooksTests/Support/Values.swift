import Broker
import PusherProtocol

@testable import Webhooks

let appID = AppID("1")

func channel(_ name: String = "my-channel") -> ChannelName {
    do { return try ChannelName(name) } catch { preconditionFailure("\(name): \(error)") }
}

func endpoint(
    _ url: String = "http://backend.test/hooks",
    kinds: [WebhookKind] = WebhookKind.allCases,
    prefix: String = "",
    suffix: String = "",
    headers: [String: String] = [:],
    isBatched: Bool = false
) -> WebhookConfiguration {
    var endpoint = WebhookConfiguration(url: url)
    endpoint.events = kinds
    endpoint.channelPrefix = prefix
    endpoint.channelSuffix = suffix
    endpoint.headers = headers
    endpoint.isBatching = isBatched
    return endpoint
}

func app(_ id: AppID = appID, endpoints: [WebhookConfiguration]) -> WebhookApp {
    WebhookApp(id: id, key: "key-\(id)", secret: AppSecret("secret-\(id)"), endpoints: endpoints)
}
