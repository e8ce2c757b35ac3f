import PusherProtocol
import Testing

@testable import Broker

@Suite("Signing in, Pusher protocol §10.1") struct SignInTests {
    private let ann = #"{"id":"ann","user_info":{"name":"Ann"}}"#

    private func success(_ userData: String) -> String {
        let data = String(decoding: JSONWriter.token(userData), as: UTF8.self)
        return #"{"event":"pusher:signin_success","data":{"user_data":\#(data)}}"#
    }

    @Test func aSignatureOfTheAppSignsIn() {
        let client = UserClient()
        #expect(client.signIn(ann) == ["sign in ann", success(ann)])
        #expect(client.user == UserID("ann"))
    }

    @Test("Signing in again as the same user succeeds, and replaces the info")
    func again() {
        let client = UserClient()
        _ = client.signIn(ann)
        let other = #"{"id":"ann","user_info":2}"#
        #expect(client.signIn(other) == [success(other)])
        #expect(client.subscribe("presence-x") == ["join presence-x as ann 1"])
    }

    @Test("Signing in as another user is refused with 4009, and the connection keeps its user")
    func asAnother() throws {
        let client = UserClient()
        _ = client.signIn(ann)
        let effects = client.signIn(#"{"id":"bob"}"#)
        #expect(effects.count == 1)
        #expect(
            try #require(effects.first).hasPrefix(#"{"event":"pusher:error","data":{"code":4009,"#)
        )
        #expect(effects.first?.contains("ann") == true)
        #expect(client.user == UserID("ann"))
    }

    @Test(
        "Invalid user_data is refused with 4009, and the connection stays open",
        arguments: [
            #"{"id":7}"#, #"{"id":""}"#, "{}", "[]", "ann", #"{"id":"a b"}"#,
            #"{"id":"ann","watchlist":{}}"#, #"{"id":"ann","watchlist":[1]}"#,
            #"{"id":"\#(String(repeating: "x", count: 129))"}"#,
            #"{"id":"ann","user_info":"\#(String(repeating: "x", count: 1_024))"}"#,
        ]
    )
    func refuses(userData: String) {
        let client = UserClient()
        let effects = client.signIn(userData)
        #expect(effects.count == 1)
        #expect(effects.first?.contains(#""code":4009"#) == true, "\(effects)")
        #expect(client.user == nil)
    }

    @Test func aForeignSignatureIsRefused() {
        let client = UserClient()
        let effects = client.signIn(ann, secret: "other")
        #expect(effects.count == 1)
        #expect(effects.first?.contains(#""code":4009"#) == true)
        #expect(effects.first?.contains("1.2::user::") == true, "it names what was to be signed")
        let unknown = client.receive(.signin(auth: "other-key:00", userData: ann), now: 0)
        #expect(unknown.first?.contains("Invalid key") == true)
        #expect(client.user == nil)
    }

    @Test("If users are disabled, signing in is refused with 4009")
    func switchedOff() {
        let client = UserClient(features: AppFeatures { $0.users = false })
        let effects = client.signIn(ann)
        #expect(effects.count == 1)
        #expect(effects.first?.contains(#""code":4009"#) == true)
        #expect(client.user == nil)
    }

    // MARK: - Channels

    @Test("Without channel_data, a presence channel is joined as the signed-in user")
    func presenceWithoutChannelData() {
        let client = UserClient()
        #expect(client.subscribe("presence-x").first?.contains("AuthError") == true)
        _ = client.signIn(ann)
        #expect(client.subscribe("presence-x") == ["join presence-x as ann 1"])
        #expect(
            client.subscribe("presence-y", secret: "other").count == 2,
            "it is signed all the same"
        )
    }

    @Test("Explicit channel_data takes precedence over the sign-in")
    func presenceWithChannelData() {
        let client = UserClient()
        _ = client.signIn(ann)
        #expect(
            client.subscribe("presence-x", data: #"{"user_id":"bob"}"#)
                == ["join presence-x as bob 1"]
        )
    }

    @Test("Only the user can subscribe to a user's channel, without a signature")
    func serverToUser() {
        let client = UserClient()
        func subscribe(_ channel: String) -> [String] {
            client.receive(.subscribe(channel: channel, auth: "", channelData: nil), now: 0)
        }
        func isRefused(_ effects: [String]) -> Bool {
            effects.count == 2 && effects[0].contains(#"\"type\":\"AuthError\""#)
                && effects[1].contains("pusher:error")
        }
        #expect(isRefused(subscribe("#server-to-user-ann")))
        _ = client.signIn(ann)
        #expect(isRefused(subscribe("#server-to-user-bob")))
        #expect(isRefused(subscribe("#server-to-user-an")))
        #expect(subscribe("#server-to-user-ann") == ["join #server-to-user-ann 1"])
    }

    // MARK: - Authorization

    @Test("Authorization is pending until a connection signs in or subscribes with a signature")
    func pendingAuthorization() {
        let features = AppFeatures { $0.authorizedConnections = true }
        #expect(!UserClient().awaitsAuthorization)
        let signedIn = UserClient(features: features)
        #expect(signedIn.awaitsAuthorization)
        #expect(signedIn.signIn(ann) == ["sign in ann", "claim quota", success(ann)])
        #expect(signedIn.subscribe("private-x") == ["join private-x 1"])
        let joined = UserClient(features: features)
        #expect(
            joined.receive(.subscribe(channel: "news", auth: nil, channelData: nil), now: 0)
                == ["join news 1"]
        )
        #expect(joined.subscribe("private-x", secret: "other").count == 2)
        #expect(joined.awaitsAuthorization)
        #expect(joined.subscribe("private-x") == ["join private-x 2", "claim quota"])
        #expect(!joined.awaitsAuthorization)
        let forgiven = UserClient(features: features)
        #expect(forgiven.authorize() == ["claim quota"])
        #expect(forgiven.authorize() == [])
    }

    @Test("The extra state of few sessions adds only sixteen bytes to all others")
    func size() {
        #expect(MemoryLayout<SessionExtras>.size == 16)
        #expect(MemoryLayout<Session>.size <= 96)
        // With the header of an array, 32 bytes, and that of the allocation, 8: 240 bytes.
        #expect(MemoryLayout<TokenRecovery>.stride <= 200)
        #expect(MemoryLayout<SubscriptionRecord>.stride <= 88)
    }
}
