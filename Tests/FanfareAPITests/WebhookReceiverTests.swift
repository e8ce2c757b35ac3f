import FanfareAPI
import PusherProtocol
import Testing

@Suite("Webhooks, with published signatures") struct WebhookReceiverTests {
    private static let key = "278d425bdf160c739803"
    private static let secret = "7ad3773142a6692b25b8"
    private static let time: Int64 = 1_700_000_000_123
    private static let first =
        #"{"time_ms":1700000000123,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    private static let firstSignature =
        "5bf3c017b92f6722f3980b999b767c90de5f4d6b95727f3fde99d4335ae54ac5"
    private static let second =
        #"{"time_ms":1700000000123,"events":[{"name":"member_added","channel":"presence-foobar","user_id":"u-1"},"#
        + #"{"name":"client_event","channel":"presence-foobar","event":"client-typing","data":"{\"n\":\"Żółć\"}","#
        + #""socket_id":"1234.1234","user_id":"u-1"},"#
        + #"{"name":"subscription_count","channel":"my-channel","subscription_count":3}]}"#

    private static func receiver(
        secrets: [String] = [secret],
        now: Int64 = time
    ) -> WebhookReceiver {
        WebhookReceiver(secrets: [key: secrets]) { now }
    }

    private static func signed(_ body: String) -> String {
        WebhookSignature.sign(Array(body.utf8).span, secret: AppSecret(secret))
    }

    @Test func areReadWhenTheSignatureIsRight() throws {
        let webhook = try Self.receiver().receive(
            Self.first.utf8,
            key: Self.key,
            signature: Self.firstSignature
        )
        #expect(webhook.milliseconds == Self.time)
        #expect(webhook.events == [.channelOccupied(channel: "my-channel")])
        let other = try Self.receiver().receive(Self.second.utf8) { name in
            [
                "X-Pusher-Key": Self.key,
                "X-Pusher-Signature":
                    "54439d7a639d445361583a2dd80cc016e9726459d686af53022b385324441f72",
            ][name]
        }
        #expect(
            other.events == [
                .memberAdded(channel: "presence-foobar", userID: "u-1"),
                .clientEvent(
                    WebhookEvent.ClientEvent(
                        channel: "presence-foobar",
                        event: "client-typing",
                        data: #"{"n":"Żółć"}"#,
                        socketID: "1234.1234",
                        userID: "u-1"
                    )
                ),
                .subscriptionCount(channel: "my-channel", count: 3),
            ]
        )
    }

    @Test func areAcceptedFromThisClientsApp() throws {
        let api = try BrokerAPI(
            appID: "3",
            key: "k",
            secret: "tofu",
            transport: RecordingTransport(200, "{}")
        ) { 1_403_175_510 }
        let body =
            #"{"time_ms":1403175510755,"events":[{"channel":"test_channel","name":"channel_vacated"}]}"#
        let webhook = try api.webhooks.receive(
            body.utf8,
            key: "k",
            signature: "c17257e92037cd7de407ebc1ed174ceb7b2e518db127f44411b9ffc4f5b28cc5"
        )
        #expect(webhook.events == [.channelVacated(channel: "test_channel")])
    }

    @Test func areAcceptedWithEachOfSeveralSecrets() throws {
        let receiver = Self.receiver(secrets: ["new", Self.secret])
        _ = try receiver.receive(
            Self.first.utf8,
            key: Self.key,
            signature: Self.firstSignature
        )
        #expect(throws: WebhookRefusal.wrongSignature) {
            try Self.receiver(secrets: ["new"])
                .receive(Self.first.utf8, key: Self.key, signature: Self.firstSignature)
        }
    }

    private static let refusals: [(String?, String?, WebhookRefusal)] = [
        (nil, "x", WebhookRefusal.unsigned), ("k", nil, .unsigned),
        ("278d425bdf160c739804", firstSignature, .unknownKey("278d425bdf160c739804")),
        (key, firstSignature.uppercased(), .wrongSignature), (key, "", .wrongSignature),
        (key, String(firstSignature.dropLast() + "6"), .wrongSignature),
    ]

    @Test(arguments: refusals)
    func areRefused(key: String?, signature: String?, refusal: WebhookRefusal) {
        #expect(throws: refusal) {
            try Self.receiver().receive(Self.first.utf8, key: key, signature: signature)
        }
        #expect(refusal.status == 401)
    }

    @Test func areRefusedWhenTheyWereChangedOnTheWay() {
        #expect(throws: WebhookRefusal.wrongSignature) {
            try Self.receiver()
                .receive((Self.first + " ").utf8, key: Self.key, signature: Self.firstSignature)
        }
    }

    @Test(arguments: [(300_000, true), (300_001, false), (-300_000, true), (-300_001, false)])
    func mustNotBeOlderThanFiveMinutes(age: Int64, isBelieved: Bool) throws {
        let receiver = Self.receiver(now: Self.time + age)
        func receive() throws -> Webhook {
            try receiver.receive(
                Self.first.utf8,
                key: Self.key,
                signature: Self.firstSignature
            )
        }
        guard !isBelieved else {
            _ = try receive()
            return
        }
        let error = #expect(throws: WebhookRefusal.self) { try receive() }
        #expect(error == .wrongTime(age: .milliseconds(age), ageMax: .seconds(300)))
        #expect(error?.description.contains("clock") == true)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"events":[]}"#, #"{"time_ms":"1","events":[]}"#,
        #"{"time_ms":1.5,"events":[]}"#,
        #"{"time_ms":1}"#, #"{"time_ms":1,"events":{}}"#,
    ])
    func mustBeWellFormed(body: String) {
        let error = #expect(throws: WebhookRefusal.self) {
            try Self.receiver()
                .receive(body.utf8, key: Self.key, signature: Self.signed(body))
        }
        #expect(error?.status == 400)
    }

    @Test(arguments: [
        (#"{"name":"channel_vacated","channel":"c"}"#, WebhookEvent.channelVacated(channel: "c")),
        (#"{"name":"cache_miss","channel":"c"}"#, .cacheMiss(channel: "c")),
        (
            #"{"name":"member_removed","channel":"c","user_id":"7"}"#,
            .memberRemoved(channel: "c", userID: "7")
        ),
        (
            #"{"name":"client_event","channel":"c","event":"client-e","socket_id":"1.2"}"#,
            .clientEvent(
                WebhookEvent.ClientEvent(
                    channel: "c",
                    event: "client-e",
                    data: nil,
                    socketID: "1.2"
                )
            )
        ),
        (
            #"{"name":"member_added","channel":"c"}"#,
            .unknown(name: "member_added", json: #"{"name":"member_added","channel":"c"}"#)
        ),
        (
            #"{"name":"news","channel":"c","a":[1]}"#,
            .unknown(name: "news", json: #"{"name":"news","channel":"c","a":[1]}"#)
        ),
        ("7", .unknown(name: "", json: "7")),
    ])
    func haveEventsOfEachKind(json: String, event: WebhookEvent) throws {
        let body = #"{"events":[\#(json)],"time_ms":1700000000123}"#
        let webhook = try Self.receiver()
            .receive(body.utf8, key: Self.key, signature: Self.signed(body))
        #expect(webhook.events == [event])
    }
}
