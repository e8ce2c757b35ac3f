import Broker
import Foundation
import Logging
import Net
import ServerLog
import TestFiles
import Testing

@testable import BrokerConfiguration

@Suite("Configuration: apps") struct ConfigurationAppTests {
    @Test func everythingAboutAnAppIsRead() throws {
        let configuration = try Configuration.load(
            yaml: """
                tls: {port: none}
                apps:
                  - id: 7
                    key: k
                    secret: s
                    credentials:
                      - secret: new
                      - {key: k2, secret: newer}
                    allowed_origins: [https://example.com, "https://*.example.com"]
                    presence_notice_delay: 50
                    cached_events_max: 5
                    cache_lifetime: 60
                    client_events_per_second_max: 20
                    subscriptions_per_second_max: 30
                    requests_per_second_max: 40
                    features:
                      client_events: true
                      subscription_count: true
                      watchlist: true
                      authorized_connections: true
                      authorization_timeout: 5
                    webhooks:
                      - url: https://example.com/hook
                        events: [cache_miss]
                        channel_prefix: private-
                        channel_suffix: -eu
                        headers:
                          Authorization: Bearer x
                          X-Empty:
                        batching: true
                      - url: http://127.0.0.1:8000
                webhooks: {database: /var/lib/fanfare/webhooks.sqlite}
                """,
            file: "f.yaml"
        )
        var app = AppConfiguration(id: "7", key: "k", secret: "s")
        app.credentials = [.init(secret: "new"), .init(key: "k2", secret: "newer")]
        app.allowedOrigins = ["https://example.com", "https://*.example.com"]
        app.features.presenceNoticeDelay = 50
        app.limits.cachedEventsMax = 5
        app.features.cacheLifetime = 60
        app.limits.clientEventRate = Rate(perSecond: 20)
        app.limits.subscriptionRate = Rate(perSecond: 30)
        app.limits.requestRates.all = Rate(perSecond: 40)
        app.features.clientEvents = true
        app.features.subscriptionCount = true
        app.features.watchlist = true
        app.features.authorizedConnections = true
        app.features.authorizationTimeout = 5
        var webhook = WebhookConfiguration(url: "https://example.com/hook")
        webhook.events = [.cacheMiss]
        webhook.channelPrefix = "private-"
        webhook.channelSuffix = "-eu"
        webhook.headers = ["Authorization": "Bearer x", "X-Empty": ""]
        webhook.isBatching = true
        app.webhooks = [webhook, WebhookConfiguration(url: "http://127.0.0.1:8000")]
        #expect(configuration.apps == [app])
        #expect(configuration.webhooks.database == "/var/lib/fanfare/webhooks.sqlite")
        #expect(
            app.allCredentials.map { "\($0.key) \($0.secret)" } == ["k s", "k new", "k2 newer"]
        )
    }

    @Test func variablesReachInsideAnApp() throws {
        let yaml = "apps: [{id: 1, key: k, secret: s, allowed_origins: [https://a.test]}]"
        let app = try Configuration.load(
            yaml: yaml,
            file: "f.yaml",
            environment: [
                "FANFARE_APPS_0_ALLOWED_ORIGINS_1": "https://b.test",
                "FANFARE_APPS_0_CREDENTIALS_0_SECRET": "new",
                "FANFARE_APPS_0_FEATURES_CLIENT_EVENTS": "true",
                "FANFARE_APPS_0_WEBHOOKS_0_URL": "https://c.test",
                "FANFARE_APPS_0_WEBHOOKS_0_EVENTS_0": "client_event",
            ]
        ).apps[0]
        #expect(app.allowedOrigins == ["https://a.test", "https://b.test"])
        #expect(app.credentials == [.init(secret: "new")])
        #expect(app.features.clientEvents)
        #expect(app.webhooks.map(\.url) == ["https://c.test"])
        #expect(app.webhooks.map(\.events) == [[.clientEvent]])
    }

    @Test(
        "A fault in an app has its key and a remedy",
        arguments: [
            (
                "allowed_origins: https://a.test",
                "allowed_origins is a list: begin each item with \"- \", and make it an origin as "
                    + "https://example.com, https://*.example.com or http://localhost:3000, "
                    + "without a slash at its end"
            ),
            (
                "allowed_origins: [https://a.test/]",
                "allowed_origins.0 must be an origin as https://example.com, "
                    + "https://*.example.com or http://localhost:3000, without a slash at its "
                    + "end, not \"https://a.test/\""
            ),
            (
                "allowed_origin: []",
                "allowed_origin is not a key: did you mean apps.0.allowed_origins?"
            ),
            (
                "features: {client_event: true}",
                "features.client_event is not a key: did you mean apps.0.features.client_events?"
            ),
            (
                "client_events: true",
                "client_events is not a key: did you mean apps.0.features.client_events?"
            ),
            (
                "features: true",
                "features is a section: write its keys beneath it, indented: client_events, "
                    + "subscription_count, users, watchlist, authorized_connections, "
                    + "authorization_timeout"
            ),
            (
                "features: {users: false, watchlist: true}",
                "features.watchlist is true, but features.users is false: a watchlist comes with "
                    + "the sign-in of a user; make both true or this one false"
            ),
            (
                "requests_per_second_max: 0",
                "requests_per_second_max must be a number of requests a second from 1 to "
                    + "100000000, or none, not \"0\""
            ),
            (
                "presence_notice_delay: 1001",
                "presence_notice_delay must be a number of milliseconds from 0 to 1000, "
                    + "not \"1001\""
            ),
            (
                "cache_lifetime: none",
                "cache_lifetime must be a number of seconds from 1 to 86400, not nothing"
            ),
            (
                "tls_only: true",
                "tls_only is true, but tls.port is none: no client could connect; set tls.port"
            ),
            (
                "credentials: [{key: other}]",
                "credentials.0.secret is missing: it must be 1 to 256 characters of ASCII "
                    + "without spaces"
            ),
            (
                "credentials: [{secret: s}]",
                "credentials.0.secret is one that this key of the app has already: write a new one"
            ),
            (
                "credentials: [{secret: with space}]",
                "credentials.0.secret must be 1 to 256 characters of ASCII without spaces, "
                    + "not \"(secret)\""
            ),
            (
                "webhooks: [https://a.test]",
                "webhooks.0 must have the keys url, events, channel_prefix, channel_suffix, "
                    + "headers, batching"
            ),
            (
                "webhooks: [{url: a.test}]",
                "webhooks.0.url must be a URL that begins with https:// or http:// and a host, "
                    + "at most 2000 characters of ASCII without spaces, not \"a.test\""
            ),
            (
                "webhooks: [{url: https://a.test, events: [member_aded]}]",
                "webhooks.0.events.0 must be one of channel_occupied, channel_vacated, "
                    + "member_added, member_removed, client_event, cache_miss, "
                    + "subscription_count, not \"member_aded\""
            ),
            (
                "webhooks: [{url: https://a.test, events: []}]",
                "webhooks.0.events must name at least one of channel_occupied, channel_vacated, "
                    + "member_added, member_removed, client_event, cache_miss, subscription_count"
            ),
            (
                "webhooks: [{url: https://a.test, headers: {X-A: b, x-a: b}}]",
                "webhooks.0.headers.x-a is written twice, in capitals and small letters: keep one"
            ),
            (
                "webhooks: [{url: https://a.test, channel_prefix: a/b}]",
                "webhooks.0.channel_prefix must be a part of a channel's name, of letters, digits "
                    + "and _-=@,.; (at most 200), or none, not \"a/b\""
            ),
            (
                "webhooks: [{url: https://a.test, headers: {X-Pusher-Key: x}}]",
                "webhooks.0.headers.X-Pusher-Key must be named by 1 to 100 letters, digits, - or "
                    + "_, and none of the fields that the broker itself sends"
            ),
            (
                "webhooks: [{url: https://a.test, headers: {X-Token: [hush]}}]",
                "webhooks.0.headers.X-Token must be at most 2000 characters of ASCII, without a "
                    + "space at its begin or end, not a list or section"
            ),
            (
                "webhooks: [{url: https://a.test, headers: {X-Token: \"hush \"}}]",
                "webhooks.0.headers.X-Token must be at most 2000 characters of ASCII, without a "
                    + "space at its begin or end, not \"(secret)\""
            ),
        ]
    )
    func names(key: String, fault: String) {
        let yaml = "apps:\n- id: 1\n  key: k\n  secret: s\n  \(key)"
        #expect(faults(yaml) == ["f.yaml:5: apps.0.\(fault)"])
    }

    @Test(arguments: [
        "https://a.test", "http://a.test:8080/path?x=1#y", "https://[::1]:7/", "https://10.0.0.1",
    ])
    func endpoints(url: String) {
        #expect(faults("apps: [{id: 1, key: k, secret: s, webhooks: [{url: \"\(url)\"}]}]") == [])
    }

    @Test(arguments: [
        "ftp://a.test", "https://", "https:///path", "https://a.test:0", "https://a.test:x/",
        "https://user:pass@a.test/", "https://*.a.test", "https://a b", "https://a.test/é", "",
        "a.test/hooks", "http://me@a.test/a", "http://żółć.test/",
        "https://a.test/" + String(repeating: "a", count: 2_000),
    ])
    func noEndpoints(url: String) {
        let found = faults("apps: [{id: 1, key: k, secret: s, webhooks: [{url: \"\(url)\"}]}]")
        #expect(found.count == 1)
    }

    @Test(arguments: [
        "content-type: a", "Host: a", "X-Delivery-Id: a", "x-pusher-else: a", "'': a", "a b: a",
        #"A: "a\r\nB: c""#, "A: ä", "A: " + String(repeating: "a", count: 4_096),
        (0...20).map { "h\($0): a" }.joined(separator: ", "),
    ])
    func noHeaders(headers: String) {
        let webhook = "{url: http://a.test, headers: {\(headers)}}"
        #expect(faults("apps: [{id: 1, key: k, secret: s, webhooks: [\(webhook)]}]").count == 1)
    }

    @Test func aKeyBelongsToOneApp() {
        let yaml = """
            apps:
            - {id: 1, key: a, secret: s, credentials: [{key: b, secret: t}]}
            - {id: 2, key: b, secret: u}
            - id: 3
              key: c
              secret: v
              credentials:
              - {key: a, secret: w}
            """
        #expect(
            faults(yaml) == [
                "f.yaml:3: apps.1.key is b, as that of apps.0: each app needs its own",
                "f.yaml:8: apps.2.credentials.0.key is a, as that of apps.0: each app needs its own",
            ]
        )
    }

    @Test func developmentCredentialsStayOnLoopbackWhereverTheyAreWritten() {
        let app = "apps: [{id: 1, key: k, secret: s, credentials: [{secret: app-secret}]}]"
        #expect(faults(app) == [])
        let found = faults("listen: {host: 0.0.0.0}\n\(app)")
        #expect(found.count == 1)
        #expect(
            found.first?.hasPrefix("f.yaml:2: apps.0.credentials.0.secret is the development one")
                == true
        )
    }

    @Test func theCertificatesThatWebhooksTrust() throws {
        let pair = try TemporaryCertificate()
        let text = try TemporaryFile("nothing of the kind")
        #expect(faults("webhooks: {trust: \(pair.certificate.path)}") == [])
        #expect(
            faults("webhooks: {trust: /nonexistent/ca.pem}") == [
                "f.yaml:1: webhooks.trust cannot be read: /nonexistent/ca.pem: "
                    + "No such file or directory"
            ]
        )
        let found = faults("webhooks: {trust: \(text.path)}")
        #expect(found.count == 1)
        #expect(
            found.first?.hasPrefix("f.yaml:1: webhooks.trust must be certificates in PEM: ")
                == true
        )
    }

    @Test func secretsOfAnAppAreNotShown() {
        var app = AppConfiguration(id: "1", key: "k", secret: "hush")
        app.credentials = [.init(secret: "hush too")]
        var webhook = WebhookConfiguration(url: "https://a.test")
        webhook.headers = ["Authorization": "hush as well"]
        app.webhooks = [webhook]
        var dumped = ""
        dump(app, to: &dumped)
        dump(app.credentials, to: &dumped)
        dump(app.webhooks, to: &dumped)
        let shown =
            "\(app) \(app.credentials) \(app.webhooks) \(dumped)"
            + String(reflecting: app) + String(reflecting: app.credentials[0])
            + String(reflecting: webhook)
        #expect(!shown.contains("hush"))
    }

    @Test func theDemosKeepEverythingInAFile() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "config/demos.yaml")
        let configuration = try Configuration.load(file: file.path)
        #expect(configuration.faults().isEmpty)
        #expect(configuration.recovery.database == "var/history.sqlite")
        #expect(configuration.apps[0].secret == AppConfiguration.development.secret)
        #expect(configuration.apps[0].recoveryRules.map(\.settings.store) == [.archive])
        #expect(configuration.apps[0].features.clientEvents)
    }

    @Test func aStoredChannelNeedsAFileOfItsOwn() {
        let app = #"{id: "1", key: k, secret: s, recovery: {rules: [{store: sqlite}]}}"#
        #expect(
            faults("apps: [\(app)]") == [
                "f.yaml:1: apps.0.recovery.rules.0.store is sqlite, but recovery.database is none: "
                    + "name the file to keep the messages in"
            ]
        )
        #expect(faults("apps: [\(app)]\nrecovery: {database: a}") == [])
        #expect(
            faults("recovery: {database: a, spool: a}") == [
                "f.yaml:1: recovery.spool is a, as recovery.database is: name a file of its own"
            ]
        )
        #expect(
            faults("recovery: {sync: disk}").first?.hasPrefix("f.yaml:1: recovery.sync must be")
                == true
        )
    }

    @Test func theKeysThatNeedARestartAreNamed() {
        var configuration = Configuration()
        configuration.apps[0].limits.membersMax = 7
        configuration.log.level = .debug
        configuration.certificates = [.init(certificate: "c", key: "k")]
        configuration.shutdown.deadline = 7
        configuration.shutdown.pace = 7
        configuration.shutdown.notice = 7
        #expect(configuration.restartKeys(comparedWith: .development) == [])
        configuration.port = 7
        configuration.tlsPort = 8
        configuration.webhooks.trust = "t"
        configuration.log.format = .json
        #expect(
            configuration.restartKeys(comparedWith: .development) == [
                "listen.port", "tls.port", "webhooks.trust", "log.format",
            ]
        )
    }
}
