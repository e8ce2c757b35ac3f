import Broker
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("The content of webhooks, Pusher: Webhooks") struct WebhookBodyTests {
    private static let presence = channel("presence-x")

    struct Row: Sendable, CustomTestStringConvertible {
        let event: ReportedEvent
        let json: String
        var testDescription: String { json }
    }

    @Test(arguments: [
        Row(
            event: .channelOccupied(channel()),
            json: #"{"name":"channel_occupied","channel":"my-channel"}"#
        ),
        Row(
            event: .channelVacated(channel()),
            json: #"{"name":"channel_vacated","channel":"my-channel"}"#
        ),
        Row(
            event: .memberAdded(presence, userID: UserID("u-1")),
            json: #"{"name":"member_added","channel":"presence-x","user_id":"u-1"}"#
        ),
        Row(
            event: .memberRemoved(presence, userID: UserID("\"Ż\"")),
            json: #"{"name":"member_removed","channel":"presence-x","user_id":"\"Ż\""}"#
        ),
        Row(
            event: .clientEvent(
                presence,
                nameToken: Array(#""client-typing""#.utf8),
                dataToken: Array(#""{\"n\":1}""#.utf8),
                sender: SocketID(123, 456),
                userID: UserID("u-1")
            ),
            json: #"{"name":"client_event","channel":"presence-x","event":"client-typing","#
                + #""data":"{\"n\":1}","socket_id":"123.456","user_id":"u-1"}"#
        ),
        // No member, no user_id; the client's data is kept verbatim.
        Row(
            event: .clientEvent(
                channel("private-x"),
                nameToken: Array(#""client-\u0061""#.utf8),
                dataToken: nil,
                sender: SocketID(1, 2),
                userID: nil
            ),
            json: #"{"name":"client_event","channel":"private-x","event":"client-\u0061","#
                + #""socket_id":"1.2"}"#
        ),
        Row(
            event: .cacheMiss(channel("cache-x")),
            json: #"{"name":"cache_miss","channel":"cache-x"}"#
        ),
        Row(
            event: .subscriptionCount(channel(), 3),
            json: #"{"name":"subscription_count","channel":"my-channel","subscription_count":3}"#
        ),
    ])
    func writes(_ row: Row) {
        #expect(
            String(
                decoding: WebhookBody.object(row.event.event, on: row.event.channel),
                as: UTF8.self
            ) == row.json
        )
    }

    struct Vector: Sendable, CustomTestStringConvertible {
        let events: [ReportedEvent]
        let time: Int64
        let body: String
        let signature: String
        var testDescription: String { signature }
    }

    /// The official Python library accepts the first one.
    @Test(arguments: [
        Vector(
            events: [.channelOccupied(channel())],
            time: 1_700_000_000_123,
            body: #"{"time_ms":1700000000123,"events":"#
                + #"[{"name":"channel_occupied","channel":"my-channel"}]}"#,
            signature: "5bf3c017b92f6722f3980b999b767c90de5f4d6b95727f3fde99d4335ae54ac5"
        ),
        Vector(
            events: [
                .memberAdded(channel("presence-foobar"), userID: UserID("u-1")),
                .clientEvent(
                    channel("presence-foobar"),
                    nameToken: Array(#""client-typing""#.utf8),
                    dataToken: Array(#""{\"n\":\"Żółć\"}""#.utf8),
                    sender: SocketID(1_234, 1_234),
                    userID: UserID("u-1")
                ),
                .subscriptionCount(channel(), 3),
            ],
            time: 1_700_000_000_123,
            body: #"{"time_ms":1700000000123,"events":["#
                + #"{"name":"member_added","channel":"presence-foobar","user_id":"u-1"},"#
                + #"{"name":"client_event","channel":"presence-foobar","event":"client-typing","#
                + #""data":"{\"n\":\"Żółć\"}","socket_id":"1234.1234","user_id":"u-1"},"#
                + #"{"name":"subscription_count","channel":"my-channel","subscription_count":3}]}"#,
            signature: "54439d7a639d445361583a2dd80cc016e9726459d686af53022b385324441f72"
        ),
    ])
    func isSignedLikeTheHostedServiceSigns(_ vector: Vector) throws {
        var batch = Batch(due: 0)
        for event in vector.events {
            batch.add(WebhookBody.object(event.event, on: event.channel), on: event.channel.text)
        }
        let hook = endpoint()
        let delivery = Delivery(
            id: 7,
            endpoint: EndpointKey(app: appID, url: hook.url, ordinal: 0),
            time: vector.time,
            events: batch.events,
            channels: batch.channels
        )
        let signer = WebhookApp(
            id: appID,
            key: "278d425bdf160c739803",
            secret: AppSecret("7ad3773142a6692b25b8"),
            endpoints: [hook]
        )
        let request = WebhookRequest(delivery, to: hook, of: signer)
        #expect(String(decoding: request.body, as: UTF8.self) == vector.body)
        let headers = Dictionary(uniqueKeysWithValues: request.headers.map { ($0.name, $0.value) })
        #expect(
            headers == [
                "Content-Type": "application/json", "X-Pusher-Key": "278d425bdf160c739803",
                "X-Pusher-Signature": vector.signature, "X-Delivery-Id": "7",
                "User-Agent": "Fanfare",
            ]
        )
    }

    @Test func theOldVectorOfTheNodeLibraryIsSignedTheSame() {
        let body = Array(
            (#"{"time_ms":1403175510755,"events":"#
                + #"[{"channel":"test_channel","name":"channel_vacated"}]}"#).utf8
        )
        let signature = WebhookSignature.sign(body.span, secret: AppSecret("tofu"))
        #expect(
            signature == "c17257e92037cd7de407ebc1ed174ceb7b2e518db127f44411b9ffc4f5b28cc5"
        )
    }
}
