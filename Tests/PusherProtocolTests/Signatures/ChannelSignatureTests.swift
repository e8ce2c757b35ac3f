import PusherProtocol
import Testing

@Suite("Channel and user signatures") struct ChannelSignatureTests {
    /// (name, channel, data, signature) on socket 1234.1234 with the documentation's credentials.
    static let channels: [(String, String, String?, String)] = [
        (
            "C1", "private-foobar", nil,
            "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
        ),
        (
            "C2", "private-cache-foobar", nil,
            "395f4a03f06e17b74af8d9c58386cf386e70176f58452420f042b6e1bddefa43"
        ),
        (
            "C3", "private-encrypted-foobar", nil,
            "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"
        ),
        (
            "C4", "private-encrypted-cache-foobar", nil,
            "b9b56ee68b2117189dbac324760a1f9958070108e3ef45232e5dcbba37dbb831"
        ),
        (
            "C5", "presence-foobar", #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#,
            "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
        ),
        (
            "C6", "presence-foobar", #"{"user_id":"10","user_info":{"name":"Mr. Channels"}}"#,
            "4c6d8fc42a207ba96a0779844171b0bb819d96ffceef9609f5cce596ab17a800"
        ),
        (
            "C7", "presence-cache-foobar",
            #"{"user_id":"10","user_info":{"name":"Mr. Channels"}}"#,
            "6c54d90970eaac004be18ca8d1bea87d9648f4a37be1c1304bf68f4a6b5532a1"
        ),
        (
            "C8", "presence-foobar", nil,
            "71506e66e7fdca106571b8999a849ad34245bc653772e51e0026c1a2475b92ba"
        ),
        (
            "C9", "presence-foobar", #"{"user_id":"u-1","user_info":{"name":"Żółć 😀"}}"#,
            "54cdbebd962cc9cddf908909ae6f50735c187373790e2dfdcdffb68673e737b9"
        ),
        (
            "C10", "presence-foobar",
            #"{"user_id":"u-1","user_info":{"name":"\u017b\u00f3\u0142\u0107 \ud83d\ude00"}}"#,
            "3e7a0d4a2b1264932cefbb56be0e62c0742bdb6513aa0449de288e80ccc2eddb"
        ),
        (
            "C11", "presence-foobar", #"{"user_id": "u-1", "user_info": {"name": "A"}}"#,
            "0215b1808e86ad7dc9cab801019fec16269893a1e030d5d197a4661d8e6d1bc1"
        ),
        (
            "C12", "private-foobar", #"{"foo":"bar"}"#,
            "13cc18efb858e429b24bd58bb1e47f405d3d2f40c8bdfc96d933b65295139612"
        ),
        (
            "C13", "presence-foobar", #"{"user_id":10,"user_info":{"name":"Mr. Pusher"}}"#,
            "afaed3695da2ffd16931f457e338e6c9f2921fa133ce7dac49f529792be6304c"
        ),
    ]

    static func secret(of key: String) -> AppSecret? {
        key == Example.key ? Example.secret : nil
    }

    static func refusal(
        _ auth: String,
        socketID: SocketID = Example.socketID,
        channel: String,
        channelData: String? = nil
    ) -> SignatureError? {
        do throws(SignatureError) {
            try ChannelSignature.verify(
                auth,
                socketID: socketID,
                channel: channel,
                channelData: channelData,
                secret: secret(of:)
            )
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: channels)
    func signsAndVerifies(name: String, channel: String, channelData: String?, signature: String) {
        let auth = Example.key + ":" + signature
        #expect(
            ChannelSignature.auth(
                socketID: Example.socketID,
                channel: channel,
                channelData: channelData,
                key: Example.key,
                secret: Example.secret
            ) == auth
        )
        #expect(Self.refusal(auth, channel: channel, channelData: channelData) == nil)
        #expect(Self.refusal(auth, channel: channel, channelData: (channelData ?? "") + " ") != nil)
    }

    /// (secret, socket, channel, data, signature) from the tests of the Python and Node libraries.
    static let libraries: [(String, String, String, String?, String)] = [
        (
            "bar", "345.23", "private-channel", nil,
            "89955e77e1b40e33df6d515a5ecbba86a01dc816a5b720da18a06fd26f7d92ff"
        ),
        (
            "bar", "345.23", "private-encrypted-channel", nil,
            "fff0503dfe4929f5162efe4d1dacbce524b0d8e7e1331117a8651c0e74d369e3"
        ),
        (
            "bar", "345.43245", "presence-channel",
            #"{"user_id":"fred","user_info":{"key":"value"}}"#,
            "e80ba6439492c2113022c39297a87a948de14061cc67b5788e045645a68b8ccd"
        ),
        (
            "tofu", "123.456", "test", nil,
            "efa6cf7644a0b35cba36aa0f776f3cbf7bb60e95ea2696bde1dbe8403b61bd7c"
        ),
        (
            "tofu", "123.456", "test", #"{"foo":"bar"}"#,
            "f41faf9ead2ea76772cc6b1168363057459f02499ae4d92e88229dc7f4efa2d4"
        ),
        (
            "tofu", "1.1", "test", #""ą§¶™€łü€ß£""#,
            "2a229263e89d9c50524fd80c2e88be2843379f6931e28995e2cc214282c9db0c"
        ),
        (
            "tofu", "123.456", "private-encrypted-bla", #""foo""#,
            "962c48b78bf93d98ff4c92ee7dff04865821455b7b401e9d60a9e0a90af2c105"
        ),
    ]

    @Test(arguments: libraries)
    func agreesWithLibraries(
        secret: String,
        socket: String,
        channel: String,
        channelData: String?,
        signature: String
    ) throws {
        let socketID = try #require(SocketID(socket))
        let auth = ChannelSignature.auth(
            socketID: socketID,
            channel: channel,
            channelData: channelData,
            key: "k",
            secret: AppSecret(secret)
        )
        #expect(auth == "k:" + signature)
    }

    @Test func refusesWhatIsNotSignedForThisSocketAndChannel() throws {
        let good = Example.key + ":" + Self.channels[0].3
        let encrypted = Example.key + ":" + Self.channels[2].3
        #expect(Self.refusal(good, channel: "private-foobar") == nil)
        let changed = String(good.dropLast()) + "5"
        let upper = Example.key + ":" + Self.channels[0].3.uppercased()
        for auth in [changed, upper, encrypted] {
            let signature = String(auth.suffix(64))
            #expect(
                Self.refusal(auth, channel: "private-foobar")
                    == .mismatch(text: "1234.1234:private-foobar", signature: signature)
            )
        }
        #expect(Self.refusal(good, channel: "private-foobaz") != nil)
        #expect(
            Self.refusal(good, socketID: SocketID(1234, 1235), channel: "private-foobar") != nil
        )
        let otherKey = good.replacing("278d425bdf160c739803", with: "278d425bdf160c739804")
        for auth in [otherKey, Self.channels[0].3, "", Example.key, ":" + Self.channels[0].3] {
            #expect(Self.refusal(auth, channel: "private-foobar") == .unknownKey(auth: auth))
        }
        #expect(Self.refusal(Example.key + ":", channel: "private-foobar") != nil)
        #expect(Self.refusal(good + ":", channel: "private-foobar") != nil)
    }

    @Test func explainsRefusals() {
        let mismatch = SignatureError.mismatch(text: "1.1:private-x", signature: "beef")
        #expect(
            mismatch.description == "Invalid signature: Expected HMAC SHA256 hex digest of "
                + "1.1:private-x, but got beef"
        )
        #expect(
            SignatureError.unknownKey(auth: "foo:bar").description
                == "Invalid key in subscription auth data: 'foo:bar'"
        )
        let error = Self.refusal(Example.key + ":beef", channel: "private-x")
        #expect(error?.description.contains(Example.secretText) == false)
    }

    // (secret, socket, data, signature)
    static let users: [(String, String, String, String)] = [
        (
            Example.secretText, "1234.1234", #"{"id":"12345"}"#,
            "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"
        ),
        (
            Example.secretText, "1234.1234",
            #"{"id":"u-1","user_info":{"name":"Jo"},"watchlist":["u-2","u-3"]}"#,
            "076afee4e9c5b05f7d64d208486f18ae12855c04e836daa8e92f210d31a0f5be"
        ),
        (
            Example.secretText, "1234.1234",
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
    ]

    @Test(arguments: users)
    func signsUsersIn(
        secretText: String,
        socket: String,
        userData: String,
        signature: String
    ) throws {
        let socketID = try #require(SocketID(socket))
        let secret = AppSecret(secretText)
        let auth = UserSignature.auth(
            socketID: socketID,
            userData: userData,
            key: "k",
            secret: secret
        )
        #expect(auth == "k:" + signature)
        try UserSignature.verify(auth, socketID: socketID, userData: userData) { key in
            key == "k" ? secret : nil
        }
        #expect(throws: SignatureError.self) {
            try UserSignature.verify(auth, socketID: SocketID(1, 2), userData: userData) { _ in
                secret
            }
        }
        // The form of the documentation's protocol example, which no library sends.
        #expect(throws: SignatureError.self) {
            try UserSignature.verify(
                "k::user::" + signature,
                socketID: socketID,
                userData: userData
            ) { _ in secret }
        }
    }
}

@Suite("Webhook signatures") struct WebhookSignatureTests {
    static let vectors: [(String, String, String)] = [
        (
            Example.secretText,
            #"{"time_ms":1700000000123,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#,
            "5bf3c017b92f6722f3980b999b767c90de5f4d6b95727f3fde99d4335ae54ac5"
        ),
        (
            Example.secretText,
            #"{"time_ms":1700000000123,"events":[{"name":"member_added","channel":"presence-foobar","#
                + #""user_id":"u-1"},{"name":"client_event","channel":"presence-foobar","#
                + #""event":"client-typing","data":"{\"n\":\"Żółć\"}","socket_id":"1234.1234","#
                + #""user_id":"u-1"},{"name":"subscription_count","channel":"my-channel","#
                + #""subscription_count":3}]}"#,
            "54439d7a639d445361583a2dd80cc016e9726459d686af53022b385324441f72"
        ),
        (
            "tofu",
            #"{"time_ms":1403175510755,"events":[{"channel":"test_channel","name":"channel_vacated"}]}"#,
            "c17257e92037cd7de407ebc1ed174ceb7b2e518db127f44411b9ffc4f5b28cc5"
        ),
    ]

    @Test(arguments: vectors)
    func signsAndVerifies(secretText: String, body: String, signature: String) {
        let secret = AppSecret(secretText)
        let content = bytes(body)
        #expect(WebhookSignature.sign(content.span, secret: secret) == signature)
        func verifies(_ signature: String, _ body: [UInt8]) -> Bool {
            WebhookSignature.verify(signature, body: body.span, secret: secret)
        }
        #expect(verifies(signature, content))
        #expect(!verifies(signature, content + [0x20]))
        #expect(!verifies(signature.uppercased(), content))
        #expect(!verifies("", content))
    }
}
