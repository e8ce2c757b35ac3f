import Broker
import BrokerConfiguration
import HTTPClient
import Testing
import Webhooks

@testable import FanfareServer
@testable import Observability

@Suite("Webhooks of a configuration") struct ConfiguredWebhooksTests {
    @Test func anEndpointIsAsItIsConfigured() throws {
        var webhook = WebhookConfiguration(url: "https://example.com/hook")
        webhook.events = [.cacheMiss, .clientEvent]
        webhook.channelPrefix = "private-"
        webhook.channelSuffix = "-eu"
        webhook.headers = ["X-A": "b"]
        webhook.isBatching = true
        var app = AppConfiguration(id: "7", key: "k", secret: "s")
        app.webhooks = [webhook]
        let made = try #require(WebhookApp(app))
        #expect(made.id == AppID("7"))
        #expect(made.key == "k")
        #expect(made.endpoints == [webhook])
    }

    @Test func anAppWithoutEndpointsHasNone() {
        var app = AppConfiguration(id: "7", key: "k", secret: "s")
        #expect(WebhookApp(app) == nil)
        app.webhooks = [WebhookConfiguration(url: "https://example.com/hook")]
        #expect(WebhookApp(app) != nil)
        app.isEnabled = false
        #expect(WebhookApp(app) == nil)
    }

    /// Unusual texts, on which two validations could differ.
    @Test(arguments: [
        "https://a.test", "https://a.test/%zz", "https://a.test/{x}?[y]#z", "http://a.test:8080/ü",
        "https://a.test:99999/", "http://[::1]:80/", "http://[::1", "https://a..test/",
        "https://a.test/\\\"<>^`|", "https://user@a.test/", "https://a.test?x", "https://a_b.test",
    ])
    func aURLWithoutFaultsIsOneThatARequestCanBeSentTo(url: String) {
        var configuration = Configuration.development
        configuration.apps[0].webhooks = [WebhookConfiguration(url: url)]
        guard configuration.faults().isEmpty else { return }
        #expect(HTTPResource(url, encodes: true) != nil)
    }

    @Test func theFilesAreThoseOfTheConfiguration() {
        var webhooks = Configuration.Webhooks()
        webhooks.database = "/a"
        webhooks.trust = "/b"
        let settings = WebhookSettings(webhooks)
        #expect(settings.path == "/a")
        #expect(settings.trustFile == "/b")
        #expect(settings.absenceDelay == .seconds(3))
    }
}
