import FanfareAPI
import Testing

/// Signatures from the official libraries and documentation.
@Suite("Authorising clients, with published signatures") struct GrantingTests {
    private static let key = "278d425bdf160c739803"
    private static let socketID = "1234.1234"

    private static func api(
        secret: String = "7ad3773142a6692b25b8",
        _ settings: BrokerAPI.Settings = BrokerAPI.Settings()
    ) throws -> BrokerAPI {
        try BrokerAPI(
            appID: "3",
            key: key,
            secret: secret,
            transport: RecordingTransport(200, "{}"),
            settings: settings
        )
    }

    /// A sealer with fixed results; signatures do not depend on it.
    private struct StubSealer: EventSealer {
        func sharedSecret(of channel: String) -> String { "secret of \(channel)" }
        func seal(_ text: String, on channel: String) -> String { "sealed \(text) on \(channel)" }
    }

    @Test(arguments: [
        ("private-foobar", "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"),
        (
            "private-cache-foobar",
            "395f4a03f06e17b74af8d9c58386cf386e70176f58452420f042b6e1bddefa43"
        ),
        (
            "private-encrypted-foobar",
            "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"
        ),
        (
            "private-encrypted-cache-foobar",
            "b9b56ee68b2117189dbac324760a1f9958070108e3ef45232e5dcbba37dbb831"
        ),
    ])
    func signsForPrivateChannels(channel: String, signature: String) throws {
        var settings = BrokerAPI.Settings()
        settings.sealer = StubSealer()
        // The user is ignored for channels without members.
        let grant = try Self.api(settings).authorize(channel, for: Self.socketID, as: "ann")
        #expect(grant.auth == "\(Self.key):\(signature)")
        #expect(grant.channelData == nil)
        let isEncrypted = channel.contains("encrypted")
        #expect(grant.sharedSecret == (isEncrypted ? "secret of \(channel)" : nil))
    }

    @Test(arguments: [
        ("presence-foobar", "4c6d8fc42a207ba96a0779844171b0bb819d96ffceef9609f5cce596ab17a800"),
        (
            "presence-cache-foobar",
            "6c54d90970eaac004be18ca8d1bea87d9648f4a37be1c1304bf68f4a6b5532a1"
        ),
    ])
    func signsForMembers(channel: String, signature: String) throws {
        let grant = try Self.api().authorize(
            channel,
            for: Self.socketID,
            as: "10",
            info: ["name": "Mr. Channels"]
        )
        #expect(grant.channelData == #"{"user_id":"10","user_info":{"name":"Mr. Channels"}}"#)
        #expect(grant.auth == "\(Self.key):\(signature)")
    }

    @Test(arguments: [
        (
            #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#,
            "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
        ),
        (
            #"{"user_id":10,"user_info":{"name":"Mr. Pusher"}}"#,
            "afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c"
        ),
        (
            #"{"user_id":"u-1","user_info":{"name":"Żółć 😀"}}"#,
            "54cdbebd962cc9cddf908909ae6f50735c187373790e2dfdcdffb68673e737b9"
        ),
        (
            #"{"user_id":"u-1","user_info":{"name":"\u017b\u00f3\u0142\u0107 \ud83d\ude00"}}"#,
            "3e7a0d4a2b1264932cefbb56be0e62c0742bdb6513aa0449de288e80ccc2eddb"
        ),
        (
            #"{"user_id": "u-1", "user_info": {"name": "A"}}"#,
            "0215b1808e86ad7dc9cab801019fec16269893a1e030d5d197a4661d8e6d1bc1"
        ),
    ])
    func signsExistingDataUnchanged(data: String, signature: String) throws {
        let grant = try Self.api().authorize(
            "presence-foobar",
            for: Self.socketID,
            channelData: data
        )
        #expect(grant.auth == "\(Self.key):\(signature)")
        #expect(grant.channelData == data)
    }

    @Test func signsDataOnAPrivateChannelToo() throws {
        let grant = try Self.api().authorize(
            "private-foobar",
            for: Self.socketID,
            channelData: #"{"foo":"bar"}"#
        )
        let signature = "13cc18efb858e429b24bd58bb1e47f405d3d2f40c8bdfc96d933b65295139612"
        #expect(grant.auth == "\(Self.key):\(signature)")
    }

    @Test(arguments: [
        (
            "7ad3773142a6692b25b8", "1234.1234", #"{"id":"12345"}"#,
            "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        ),
        (
            "7ad3773142a6692b25b8", "1234.1234",
            #"{"id": "u-1", "user_info": {"name": "Jo"}, "watchlist": ["u-2", "u-3"]}"#,
            "15f024cd1c704a3d4f29e5b9533c95d22a62f02bcb7f6e10070e5fb8b4f59540"
        ),
        (
            "tofu", "123.456", #"{"id":"45678"}"#,
            "f4b1fdeea7c93e32648c7230e32b172057c5623cace6cfce791c6e7035e0babd"
        ),
        (
            "tofu", "1.1", #"{"id":"ą§¶™€łü€ß£"}"#,
            "620494cee53d6c568b49598313194088afda37218f0d059af03c0c898ed61ff4"
        ),
        (
            "thisisasecret", "12345.6789", #"{"id":"123","name":"John Smith"}"#,
            "0dddb208b53c7649f3fbbb86254a6e1986bc6f8b566423ea690c9ca773497373"
        ),
    ])
    func signsUsersIn(secret: String, socketID: String, data: String, signature: String) throws {
        let grant = try Self.api(secret: secret).authenticate(userData: data, for: socketID)
        #expect(grant.auth == "\(Self.key):\(signature)")
        #expect(grant.userData == data)
    }

    @Test func writesUsersAsTheyAreSigned() throws {
        let api = try Self.api()
        let plain = try api.authenticate("12345", for: Self.socketID)
        #expect(plain.userData == #"{"id":"12345"}"#)
        let full = try api.authenticate(
            "u-1",
            for: Self.socketID,
            info: ["name": "Jo"],
            watchlist: ["u-2", "u-3"]
        )
        #expect(
            full.userData
                == #"{"id":"u-1","user_info":{"name":"Jo"},"watchlist":["u-2","u-3"]}"#
        )
        let signature = "076afee4e9c5b05f7d64d208486f18ae12855c04e836daa8e92f210d31a0f5be"
        #expect(full.auth == "\(Self.key):\(signature)")
    }

    @Test func answersAsClientsRead() throws {
        let grant = ChannelGrant(auth: "k:s", channelData: #"{"user_id":"1"}"#, sharedSecret: "x")
        #expect(
            grant.json
                == #"{"auth":"k:s","channel_data":"{\"user_id\":\"1\"}","shared_secret":"x"}"#
        )
        #expect(ChannelGrant(auth: "k:s").json == #"{"auth":"k:s"}"#)
        #expect(
            ChannelGrant.json(["b": ChannelGrant(auth: "2"), "a": ChannelGrant(auth: "1")])
                == #"{"a":{"auth":"1"},"b":{"auth":"2"}}"#
        )
        #expect(
            UserGrant(auth: "k:s", userData: #"{"id":"1"}"#).json
                == #"{"auth":"k:s","user_data":"{\"id\":\"1\"}"}"#
        )
        #expect(!"\(grant)".contains("k:s") && !"\(grant)".contains(": x"))
    }

    private static let wrongs: [(String, String, String?, String)] = [
        ("public", "1234.1234", "ann", "public is a public channel"),
        ("private-a b", "1234.1234", "ann", "private-a b"),
        ("private-a", "1234.1234:private-b", "ann", "is not a socket ID"),
        ("private-a", "", "ann", "is not a socket ID"),
        ("presence-a", "1234.1234", nil, "pass the user's id"),
        ("presence-a", "1234.1234", "", "1 to 128 characters, not 0"),
        ("presence-a", "1234.1234", String(repeating: "x", count: 129), "not 129"),
        ("private-encrypted-a", "1234.1234", nil, "set Settings.sealer"),
    ]

    @Test(arguments: wrongs)
    func signsNothingThatIsNotRight(
        channel: String,
        socketID: String,
        user: String?,
        reason: String
    ) throws {
        let error = #expect(throws: FanfareAPIError.self) {
            try Self.api().authorize(channel, for: socketID, as: user)
        }
        #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    }

    @Test(arguments: ["", "a b", "ż", String(repeating: "x", count: 129)])
    func refusesUserIDsThatABrokerRefuses(user: String) throws {
        #expect(throws: FanfareAPIError.self) {
            try Self.api().authenticate(user, for: Self.socketID)
        }
    }
}

@Suite("Requests to an authorisation endpoint") struct GrantRequestTests {
    @Test(arguments: [
        ("socket_id=1.2&channel_name=private-a", ["private-a"]),
        ("channel_name=presence-a%40b%2C%3B&socket_id=1%2E2&user=7", ["presence-a@b,;"]),
        (
            "socket_id=1.2&channel_name[]=private-a&channel_name%5B%5D=private-b",
            ["private-a", "private-b"]
        ),
        (#"{"socket_id":"1.2","channel_name":"private-a"}"#, ["private-a"]),
        (" {\"channel_name\":[\"a\",\"b\"],\"socket_id\":\"1.2\",\"x\":{}}", ["a", "b"]),
        ("socket_id=1.2", []),
    ])
    func isReadAsFormAndAsJSON(body: String, channels: [String]) throws {
        let request = try GrantRequest(body.utf8)
        #expect(request.socketID == "1.2")
        #expect(request.channels == channels)
        if channels.count == 1 { #expect(try request.channel == channels[0]) }
    }

    @Test(arguments: [
        ("", "socket_id"), ("channel_name=a", "socket_id"), ("socket_id=", "socket_id"),
        ("{", "not a JSON object"), (#"{"socket_id":7}"#, "socket_id"),
        (
            "socket_id=1.2" + String(repeating: "&channel_name[]=a", count: 101),
            "101 channels are requested, at most 100"
        ),
    ])
    func isRefusedWithAReason(body: String, reason: String) {
        let error = #expect(throws: FanfareAPIError.self) { try GrantRequest(body.utf8) }
        #expect(error?.description.contains(reason) == true)
    }

    @Test(arguments: [
        ("socket_id=1.2", "missing"),
        ("socket_id=1.2&channel_name[]=a&channel_name[]=b", "one is expected"),
    ])
    func isAboutOneChannelWhereThatIsExpected(body: String, reason: String) throws {
        let request = try GrantRequest(body.utf8)
        let error = #expect(throws: FanfareAPIError.self) { try request.channel }
        #expect(error?.description.contains(reason) == true)
    }
}
