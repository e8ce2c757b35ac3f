import PusherProtocol
import Testing

@testable import Broker

/// The app and the connection of the documentation.
private let app = App(
    id: AppID("3"),
    key: "278d425bdf160c739803",
    secret: AppSecret("7ad3773142a6692b25b8")
)
private let socketID = SocketID(1234, 1234)

@Suite("Authorization of subscriptions, Pusher protocol §7.2") struct AdmissionTests {
    private func outcome(
        _ channel: String,
        _ auth: String?,
        _ channelData: String? = nil,
        on socketID: SocketID = socketID
    ) throws -> Result<Member?, SubscriptionRefusal> {
        let name = try ChannelName(channel)
        do throws(SubscriptionRefusal) {
            let member = try Admission.member(
                joining: name,
                socketID: socketID,
                auth: auth,
                channelData: channelData,
                app: app
            )
            return .success(member)
        } catch {
            return .failure(error)
        }
    }

    private func refusal(
        _ channel: String,
        _ auth: String?,
        _ channelData: String? = nil,
        on socketID: SocketID = socketID
    ) throws -> SubscriptionRefusal? {
        guard case .failure(let refusal) = try outcome(channel, auth, channelData, on: socketID)
        else { return nil }
        return refusal
    }

    @Test("Public channels ignore auth and data", arguments: ["chat", "cache-chat"])
    func openChannels(channel: String) throws {
        #expect(try outcome(channel, "nonsense", "nonsense") == .success(nil))
        #expect(try outcome(channel, nil) == .success(nil))
    }

    private func sign(_ channel: String, _ channelData: String? = nil) -> String {
        ChannelSignature.auth(
            socketID: socketID,
            channel: channel,
            channelData: channelData,
            key: app.key,
            secret: app.secret
        )
    }

    @Test(
        "Every private kind needs a signature of its whole name",
        arguments: [
            "private-x", "private-cache-x", "private-encrypted-x", "private-encrypted-cache-x",
        ]
    )
    func privateKinds(channel: String) throws {
        #expect(try outcome(channel, sign(channel)) == .success(nil))
        #expect(try refusal(channel, nil)?.type == "AuthError")
        #expect(try refusal(channel, sign("private-y"))?.type == "AuthError")
    }

    @Test("Every presence kind needs a member", arguments: ["presence-x", "presence-cache-x"])
    func presenceKinds(channel: String) throws {
        let data = #"{"user_id":"ann"}"#
        let member = try outcome(channel, sign(channel, data), data).get()
        #expect(member == Member(id: UserID("ann")))
        #expect(try refusal(channel, sign(channel)) == .noChannelData(try ChannelName(channel)))
    }

    @Test(
        "A signature of the app is accepted",
        arguments: [
            (
                "private-foobar",
                "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4", nil
            ),
            // Data on a private channel is signed too, and otherwise ignored.
            (
                "private-foobar",
                "13cc18efb858e429b24bd58bb1e47f405d3d2f40c8bdfc96d933b65295139612",
                #"{"foo":"bar"}"#
            ),
        ] as [(String, String, String?)]
    )
    func admits(channel: String, signature: String, data: String?) throws {
        #expect(
            try outcome(channel, "278d425bdf160c739803:" + signature, data) == .success(nil)
        )
    }

    @Test(
        "A signature of the exact channel_data authorizes a member",
        arguments: [
            (
                "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80",
                #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#, "10"
            ),
            (
                "4c6d8fc42a207ba96a0779844171b0bb819d96ffceef9609f5cce596ab17a800",
                #"{"user_id":"10","user_info":{"name":"Mr. Channels"}}"#, "10"
            ),
            (
                "54cdbebd962cc9cddf908909ae6f50735c187373790e2dfdcdffb68673e737b9",
                #"{"user_id":"u-1","user_info":{"name":"Żółć 😀"}}"#, "u-1"
            ),
            (
                "3e7a0d4a2b1264932cefbb56be0e62c0742bdb6513aa0449de288e80ccc2eddb",
                #"{"user_id":"u-1","user_info":{"name":"\u017b\u00f3\u0142\u0107 \ud83d\ude00"}}"#,
                "u-1"
            ),
            (
                "0215b1808e86ad7dc9cab801019fec16269893a1e030d5d197a4661d8e6d1bc1",
                #"{"user_id": "u-1", "user_info": {"name": "A"}}"#, "u-1"
            ),
        ]
    )
    func admitsMembers(signature: String, data: String, id: String) throws {
        let outcome = try outcome("presence-foobar", "278d425bdf160c739803:" + signature, data)
        #expect((try outcome.get())?.id == UserID(id))
    }

    @Test(
        "Any other signature is refused",
        arguments: [
            // The last digit changed; upper case; of another channel; cut; empty.
            "278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a5",
            "278d425bdf160c739803:58DF8B0C36D6982B82C3ECF6B4662E34FE8C25BBA48F5369F135BF843651C3A4",
            "278d425bdf160c739803:e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533",
            "278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a",
            "278d425bdf160c739803:",
        ]
    )
    func refusesSignatures(auth: String) throws {
        let found = try refusal("private-foobar", auth)
        let refusal = try #require(found)
        #expect(refusal.type == "AuthError" && refusal.status == 401)
        let signed = "Expected HMAC SHA256 hex digest of 1234.1234:private-foobar, but got "
        #expect(refusal.description.contains(signed), "\(refusal)")
        #expect(!refusal.description.contains("3651c3a4") || auth.contains("3651C3A4"))
    }

    @Test(
        "An unknown key is refused",
        arguments: [
            "278d425bdf160c739804:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4",
            ":58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4",
            "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4",
        ]
    )
    func refusesKeys(auth: String) throws {
        let found = try refusal("private-foobar", auth)
        let refusal = try #require(found)
        #expect(refusal == .signature(.unknownKey(auth: auth)))
        #expect(refusal.type == "AuthError" && refusal.status == 401)
    }

    @Test func aSignatureIsGoodForOneConnection() throws {
        let auth =
            "278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
        let other = SocketID(1234, 1235)
        #expect(try refusal("private-foobar", auth, on: other)?.status == 401)
    }

    @Test("A missing signature is answered with the string to sign", arguments: [nil, ""])
    func refusesNothing(auth: String?) throws {
        let found = try refusal("presence-foobar", auth, "{}")
        let refusal = try #require(found)
        #expect(refusal == .unsigned("1234.1234:presence-foobar:{}"))
        #expect(refusal.type == "AuthError" && refusal.status == 401)
        #expect(refusal.description.hasSuffix("1234.1234:presence-foobar:{}"))
    }

    @Test func presenceNeedsSomebody() throws {
        let auth =
            "278d425bdf160c739803:71506e66e7fdca106571b8999a849ad34245bc653772e51e0026c1a2475b92ba"
        let found = try refusal("presence-foobar", auth)
        let refusal = try #require(found)
        #expect(refusal == .noChannelData(try ChannelName("presence-foobar")))
        #expect(refusal.type == "AuthError" && refusal.status == 401)
    }

    @Test func invalidDataIsRefusedWithAReason() throws {
        for (data, type) in [
            ("{}", "AuthError"),
            (#"{"user_id":"\#(String(repeating: "x", count: 129))"}"#, "LimitReached"),
        ] {
            let auth = ChannelSignature.auth(
                socketID: socketID,
                channel: "presence-foobar",
                channelData: data,
                key: app.key,
                secret: app.secret
            )
            #expect(try refusal("presence-foobar", auth, data)?.type == type)
        }
    }
}
