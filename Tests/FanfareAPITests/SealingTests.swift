import FanfareAPI
import FanfareClient
import FanfareEncryption
import PusherProtocol
import Testing

@Suite("Events of encrypted channels") struct SealingTests {
    private static let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private static func api(_ transport: RecordingTransport, isSealing: Bool = true) throws
        -> BrokerAPI
    {
        var settings = BrokerAPI.Settings()
        if isSealing { settings.sealer = try MasterKey(base64: base64) }
        return try BrokerAPI(
            appID: "3",
            key: "278d425bdf160c739803",
            secret: "7ad3773142a6692b25b8",
            transport: transport,
            settings: settings
        )
    }

    private static func open(_ data: String, of channel: String) throws -> String {
        let secret = try MasterKey(base64: base64).key(of: channel).base64
        return try SecretBoxDecrypter().open(data, sharedSecret: secret)
    }

    @Test func derivesThePublishedSecrets() throws {
        let grant = try Self.api(RecordingTransport(200, "{}"))
            .authorize("private-encrypted-foobar", for: "1234.1234")
        #expect(
            grant.json
                == #"{"auth":"278d425bdf160c739803:e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533","#
                + #""shared_secret":"g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="}"#
        )
    }

    @Test func encryptsTriggeredEvents() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport)
        let channel = "private-encrypted-a"
        try await api.trigger("e", on: channel, data: ["n": 1])
        try await api.trigger(batch: [
            APIEvent("e", on: "plain", text: "2"), APIEvent("e", on: channel, text: "3"),
        ])
        let (first, second) = (transport.requests[0], transport.requests[1])
        let single = try TriggerRequest.parse(first.body.span)
        #expect(try Self.open(single.data, of: channel) == #"{"n":1}"#)
        let batch = try TriggerRequest.parseBatch(second.body.span)
        #expect(batch[0].data == "2")
        #expect(try Self.open(batch[1].data, of: channel) == "3")
    }

    @Test func sealsForEachChannelByItself() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport)
        let error = await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: ["a", "private-encrypted-a"], text: "1")
        }
        #expect(error?.description.contains("trigger one event for each") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test func sendsNothingThatOthersCouldRead() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport, isSealing: false)
        let channel = "private-encrypted-cache-a"
        await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: channel, text: "1")
        }
        await #expect(throws: FanfareAPIError.self) {
            try await api.trigger(batch: [APIEvent("e", on: channel, text: "1")])
        }
        await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: channel, text: #"{"nonce":"1","ciphertext":2}"#)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func sendsDataEncryptedByTheApp() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport, isSealing: false)
        let channel = "private-encrypted-a"
        let sealed = try MasterKey(base64: Self.base64).seal("1", on: channel)
        try await api.trigger("e", on: channel, text: sealed)
        let request = try #require(transport.requests.first)
        #expect(try TriggerRequest.parse(request.body.span).data == sealed)
    }
}
