import Digests
import PusherProtocol
import Testing
import TestRandom

@Suite("HTTP request signatures") struct RequestSignatureTests {
    static let auth = "auth_key=278d425bdf160c739803&auth_timestamp=1700000000&auth_version=1.0"
    static let documentationBody =
        #"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#
    static let batchBody =
        #"{"batch":[{"channel":"a","name":"e1","data":"1"},"#
        + #"{"channel":"b","name":"e2","data":"2","info":"subscription_count"}]}"#

    /// Verifies as the server does; `nil` when the request is accepted.
    static func refusal(
        method: String = "GET",
        path: String,
        query: String,
        body: String = "",
        prefix: String = "",
        now: Int64 = 1_700_000_000,
        key: String = Example.key,
        secret: AppSecret = Example.secret
    ) -> APIError? {
        do throws(APIError) {
            try RequestSignature.verify(
                method: method,
                path: bytes(path).span,
                pathPrefix: prefix,
                parameters: QueryParameters(query),
                body: bytes(body).span,
                now: now
            ) { given in
                var text: [UInt8] = []
                for index in given.indices { text.append(given[index]) }
                if text == bytes("key-of-another-app") { return .otherApp }
                return text == bytes(key) ? .app(secret) : .unknown
            }
            return nil
        } catch {
            return error
        }
    }

    // (name, path, query behind the auth parameters, signature)
    static let gets: [(String, String, String, String)] = [
        (
            "G1", "/apps/3/channels", "",
            "4707afdd8f617b6c4cd52e889d9136a131f31f57e26ce815afd04af0b804c7d3"
        ),
        (
            "G2", "/apps/3/channels", "&filter_by_prefix=presence-&info=user_count",
            "5142c71a4248ef5f3ec45e8793d8997773f1d19ce69ee6f6b1d75131d8aa0a6a"
        ),
        (
            "G3, as Python", "/apps/3/channels",
            "&body_md5=d41d8cd98f00b204e9800998ecf8427e&filter_by_prefix=presence-&info=user_count",
            "3fc9da7cb4e6d626b1c5a1b1f0179acebb2b238818aab773b9aa682659ddfe10"
        ),
        (
            "G4", "/apps/3/channels/presence-foobar", "&info=user_count,subscription_count",
            "117e082c7dff8537497b0f08dd31c0b8ee92e5c3bc2518238afed83c03e6966e"
        ),
        (
            "G4, escaped as PHP", "/apps/3/channels/presence-foobar",
            "&info=user_count%2Csubscription_count",
            "117e082c7dff8537497b0f08dd31c0b8ee92e5c3bc2518238afed83c03e6966e"
        ),
        (
            "G5", "/apps/3/channels/presence-foobar/users", "",
            "9e7cd451c60103a5a50ac29611500f874871a63a6c627727ac333981759139a1"
        ),
        (
            "G6", "/apps/3/some/resource", "&Name=Something%20else",
            "ced897579be400ae28a47bbe015bd29da3ebe459521df476d59c6f627b484509"
        ),
        (
            "G6, a plus for the space", "/apps/3/some/resource", "&Name=Something+else",
            "ced897579be400ae28a47bbe015bd29da3ebe459521df476d59c6f627b484509"
        ),
        (
            "G7", "/apps/3/some/resource", "&q=a%2Bb%20%26%20%C5%BB%C3%B3%C5%82%C4%87%3D1",
            "42cfa4cf8f55a4b649053ea11907527a01141bad8c4669145ce431528e9dbac4"
        ),
        (
            "A1", "/apps/3/some/resource", "&channels[]=b&channels[]=a",
            "59db0b61dc51f8b99924dde995a0e141dc1fd30b05469f4915667dfa400f020f"
        ),
        (
            "A1, escaped", "/apps/3/some/resource", "&channels%5B%5D=b&channels%5B%5D=a",
            "59db0b61dc51f8b99924dde995a0e141dc1fd30b05469f4915667dfa400f020f"
        ),
        (
            "A2, indexed as PHP sends it", "/apps/3/some/resource",
            "&channels%5B0%5D=b&channels%5B1%5D=a",
            "57197849b9c4bdfd1676f86fd9004b8d60e5cc478373f55d185c11e28e29571a"
        ),
        (
            "A2, bare brackets", "/apps/3/some/resource", "&channels[]=b&channels[]=a",
            "57197849b9c4bdfd1676f86fd9004b8d60e5cc478373f55d185c11e28e29571a"
        ),
        (
            "A2, joined on the wire", "/apps/3/some/resource", "&channels=b,a",
            "57197849b9c4bdfd1676f86fd9004b8d60e5cc478373f55d185c11e28e29571a"
        ),
        (
            "A3", "/apps/3/some/resource", "&channels[]=b&channels[]=a",
            "b103cd94883d6432c348325b291d915ea1b6642bdf41875cc5adcb5f81bc0e43"
        ),
        (
            "A4", "/apps/3/some/resource", "&channels[]=a&channels[]=b",
            "523133a4529c3193da4e5f086cce4c53859d9204d55d1efba52578b8a05c3d36"
        ),
    ]

    @Test(arguments: gets)
    func acceptsGET(name: String, path: String, query: String, signature: String) {
        let whole = Self.auth + query + "&auth_signature=" + signature
        #expect(Self.refusal(path: path, query: whole) == nil)
        // The order on the wire does not matter.
        let reversed = whole.split(separator: "&").reversed().joined(separator: "&")
        if !name.hasPrefix("A") { #expect(Self.refusal(path: path, query: reversed) == nil) }
    }

    @Test func keepsTheOrderOfArrayValues() {
        let sorted = "523133a4529c3193da4e5f086cce4c53859d9204d55d1efba52578b8a05c3d36"
        let query = Self.auth + "&channels[]=b&channels[]=a&auth_signature=" + sorted
        #expect(Self.refusal(path: "/apps/3/some/resource", query: query)?.status == 401)
    }

    // (name, path, body, its MD5 or nil, signature)
    static let posts: [(String, String, String, String?, String)] = [
        (
            "P1", "/apps/3/events", documentationBody, "ec365a775a4cd0599faeb73354201b6f",
            "0f7a4feffe3a3bfc282744c0c467dc5ab1ece5dad96d11a339b32c191ba8b368"
        ),
        (
            "P2", "/apps/3/batch_events", batchBody, "41f7894f5a17e42adb69b6e66e4c597b",
            "73c988aed703d2e3bf3548cf45586b49bc1f40735aac00397a7dac119d7dfd50"
        ),
        (
            "P3", "/apps/3/users/u-1/terminate_connections", "{}",
            "99914b932bd37a50b983c5e7c90ae93b",
            "a7f8b5c21ca5d41dcf410b171a1e933f29c5a5a126a9dd1b89dcf225960767ac"
        ),
        (
            "P4", "/apps/3/users/u-1/terminate_connections", "", nil,
            "11d74613eec6bf4f19686fb5f14503c7fa99a39d8fb46b3718a6ae823d41ff71"
        ),
        (
            "P5", "/apps/3/events",
            ##"{"name":"hi","data":"{\"m\":1}","channels":["#server-to-user-u-1"]}"##,
            "5b893baaa1120be0885447c33f26f823",
            "fc0a178c44bc61c359a12e930e6d27725038c1dc13edd212d22d7f4dcadafef2"
        ),
        (
            "P6", "/apps/3/events",
            #"{"name":"foo","channels":["project-3"],"data":"{\"n\":\"Żółć\"}"}"#,
            "852bae91f32c192bb04aaa4795f591a0",
            "7b2b403e83ee1fdec552c611b860eaebfdbfb37f4ab598b57df1f7d9cc5a201b"
        ),
    ]

    @Test(arguments: posts)
    func acceptsPOST(name: String, path: String, body: String, md5: String?, signature: String) {
        let query =
            Self.auth + (md5.map { "&body_md5=" + $0 } ?? "") + "&auth_signature=" + signature
        #expect(Self.refusal(method: "POST", path: path, query: query, body: body) == nil)
        let signed = RequestSignature.sign(
            method: "POST",
            path: path,
            body: bytes(body).span,
            key: Example.key,
            secret: Example.secret,
            timestamp: 1_700_000_000
        )
        #expect(signed == query)
    }

    @Test func acceptsTheDocumentationExample() {
        let query = RequestSignature.sign(
            method: "POST",
            path: "/apps/3/events",
            body: bytes(Self.documentationBody).span,
            key: Example.key,
            secret: Example.secret,
            timestamp: 1_353_088_179
        )
        #expect(
            query == "auth_key=278d425bdf160c739803&auth_timestamp=1353088179&auth_version=1.0"
                + "&body_md5=ec365a775a4cd0599faeb73354201b6f&auth_signature="
                + "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c"
        )
        #expect(
            Self.refusal(
                method: "POST",
                path: "/apps/3/events",
                query: query,
                body: Self.documentationBody,
                now: 1_353_088_179
            ) == nil
        )
    }

    // (key, secret, time, method, path, body, own parameters, signature)
    static let libraries: [(String, String, Int64, String, String, String, String, String)] = [
        (
            "key", "secret", 1000, "GET", "/some/obscure/api", "",
            "body_md5=d41d8cd98f00b204e9800998ecf8427e&foo=bar",
            "5c49f04a95eedc9028b1e0e8de7c2c7ad63504a0e3b5c145d2accaef6c14dbac"
        ),
        (
            "key", "secret", 1000, "POST", "/some/obscure/api", #"{"foo": "bar"}"#,
            "body_md5=94232c5b8fc9272f6f73a1e36eb68fcf",
            "e05fa4cafee86311746ee3981d5581a5e4e87c27bbab0aeb1059e2df5c90258b"
        ),
        (
            "f00d", "tofu", 1_234_567_890, "GET", "/event", "", "baz=123454321&foo=bar",
            "d8bdbd31911fb7400a14fbd36fd7de053494725b64400ae5856deafe304b34a9"
        ),
        (
            "f00d", "tofu", 1_234_567_890, "GET", "/event", "example body",
            "body_md5=165d5e6d7ca8f73b3853ce45addf42fc",
            "a650196dc427ebe837226f8565ca9232198c6d1b9455eaa72374a9dc0b620e7b"
        ),
    ]

    @Test func acceptsTheVectorsOfLibraries() {
        for (key, secret, time, method, path, body, own, signature) in Self.libraries {
            let query =
                "auth_key=\(key)&auth_timestamp=\(time)&auth_version=1.0&\(own)"
                + "&auth_signature=\(signature)"
            #expect(
                Self.refusal(
                    method: method,
                    path: path,
                    query: query,
                    body: body,
                    now: time,
                    key: key,
                    secret: AppSecret(secret)
                ) == nil
            )
        }
    }

    static func signed(
        _ method: String = "GET",
        _ path: String,
        _ own: [(name: String, value: String)] = [],
        body: String = ""
    ) -> String {
        RequestSignature.sign(
            method: method,
            path: path,
            parameters: own,
            body: bytes(body).span,
            key: Example.key,
            secret: Example.secret,
            timestamp: 1_700_000_000
        )
    }

    @Test func acceptsThePathRawOrDecoded() {
        let raw = "/apps/3/channels/%23server-to-user-u%2C1"
        let decoded = "/apps/3/channels/#server-to-user-u,1"
        #expect(Self.refusal(path: raw, query: Self.signed("GET", raw)) == nil)
        #expect(Self.refusal(path: raw, query: Self.signed("GET", decoded)) == nil)
        #expect(Self.refusal(path: raw, query: Self.signed("GET", "/apps/3/channels")) != nil)
    }

    @Test func acceptsThePathWithAndWithoutThePrefix() {
        let path = "/push/apps/3/channels"
        for signed in [path, "/apps/3/channels"] {
            #expect(
                Self.refusal(path: path, query: Self.signed("GET", signed), prefix: "/push") == nil
            )
        }
        // A prefix ends at a segment's end.
        #expect(
            Self.refusal(path: "/pushy/x", query: Self.signed("GET", "y/x"), prefix: "/push") != nil
        )
        #expect(
            Self.refusal(path: path, query: Self.signed("GET", "/apps/3/channels")) != nil
        )
    }

    @Test func signsItsOwnParametersEncoded() {
        let query = Self.signed("GET", "/apps/3/channels", [("info", "a,b c+d&e=f"), ("x", "é")])
        #expect(query.contains("&info=a%2Cb%20c%2Bd%26e%3Df&x=%C3%A9&auth_signature="))
        #expect(Self.refusal(path: "/apps/3/channels", query: query) == nil)
    }

    /// Replaces or removes one parameter of a valid request, without signing it again.
    static func changing(_ name: String, to value: String?) -> String {
        signed("GET", "/apps/3/channels").split(separator: "&").compactMap { pair in
            guard pair.hasPrefix(name + "=") else { return String(pair) }
            return value.map { "\(name)=\($0)" }
        }.joined(separator: "&")
    }

    static let refusals: [(String, String?, String)] = [
        ("auth_key", nil, "Missing parameter: auth_key"),
        ("auth_key", "278d425bdf160c739804", "Unknown auth_key"),
        ("auth_key", "", "Unknown auth_key"),
        ("auth_key", "key-of-another-app", "The auth_key is not one of the app in the path"),
        ("auth_version", nil, "Version required"),
        ("auth_version", "1.1", "Version not supported"),
        ("auth_version", "", "Version not supported"),
        ("auth_timestamp", nil, "Timestamp required"),
        (
            "auth_timestamp", "abc",
            "Invalid timestamp: auth_timestamp must be Unix time in seconds, not \"abc\""
        ),
        (
            "auth_timestamp", "1700000000.5",
            "Invalid timestamp: auth_timestamp must be Unix time in seconds, not \"1700000000.5\""
        ),
        (
            "auth_timestamp", "%2B1700000000",
            "Invalid timestamp: auth_timestamp must be Unix time in seconds, not \"+1700000000\""
        ),
        (
            "auth_timestamp", "99999999999999999999",
            "Invalid timestamp: auth_timestamp must be Unix time in seconds, "
                + "not \"99999999999999999999\""
        ),
        (
            "auth_timestamp", "1353088179",
            "Timestamp expired: Given timestamp (2012-11-16T17:49:39Z) "
                + "not within 600s of server time (2023-11-14T22:13:20Z)"
        ),
        (
            "auth_timestamp", "-9223372036854775808",
            "Timestamp expired: Given timestamp (-9223372036854775808) "
                + "not within 600s of server time (2023-11-14T22:13:20Z)"
        ),
        // The difference from the server's clock overflows `abs`.
        (
            "auth_timestamp", "-9223372035154775808",
            "Timestamp expired: Given timestamp (-9223372035154775808) "
                + "not within 600s of server time (2023-11-14T22:13:20Z)"
        ),
        ("auth_signature", nil, "Missing parameter: auth_signature"),
    ]

    @Test(arguments: refusals)
    func refuses(name: String, value: String?, message: String) {
        let error = Self.refusal(path: "/apps/3/channels", query: Self.changing(name, to: value))
        #expect(error == APIError(status: 401, message: message))
    }

    @Test func checksInOrder() {
        let everythingWrong = "auth_timestamp=1&auth_version=2&body_md5=x&auth_signature=y"
        func message(_ query: String) -> String? {
            Self.refusal(method: "POST", path: "/x", query: query, body: "z")?.message
        }
        #expect(message(everythingWrong) == "Missing parameter: auth_key")
        let known = "auth_key=\(Example.key)&" + everythingWrong
        #expect(message(known) == "Version not supported")
        let version = known.replacing("auth_version=2", with: "auth_version=1.0")
        #expect(message(version)?.hasPrefix("Timestamp expired") == true)
        let timely = version.replacing("auth_timestamp=1&", with: "auth_timestamp=1700000000&")
        // The body is checked after the signature.
        #expect(message(timely)?.hasPrefix("Invalid signature") == true)
        #expect(
            message(timely.replacing("&auth_signature=y", with: ""))
                == "Missing parameter: auth_signature"
        )
        let digest = Hex.encode(Digest.md5(bytes("z").span))
        func message(ofDigest digest: String?) -> String? {
            let own = digest.map { [(name: "body_md5", value: $0)] } ?? []
            return message(Self.signed("POST", "/x", own))
        }
        #expect(message(ofDigest: digest) == nil)
        #expect(message(ofDigest: nil) == "Missing parameter: body_md5")
        #expect(message(ofDigest: "x") == "Invalid body MD5")
        #expect(message(ofDigest: digest.uppercased()) == "Invalid body MD5")
    }

    @Test("The head is verified without the body, and the body by the digest in the head")
    func verifiesHeadAndBodyApart() throws {
        let query = Self.signed("POST", "/x", body: "whole")
        let parameters = QueryParameters(query)
        try RequestSignature.verifyHead(
            method: "POST",
            path: bytes("/x").span,
            parameters: parameters,
            now: 1_700_000_000
        ) { _ in .app(Example.secret) }
        try RequestSignature.verifyBody(bytes("whole").span, parameters: parameters)
        #expect(throws: APIError(status: 401, message: "Invalid body MD5")) {
            try RequestSignature.verifyBody(bytes("whol").span, parameters: parameters)
        }
    }

    @Test func refusesADigestOfAnEmptyBodyThatIsNone() {
        let query = Self.signed("GET", "/x", [("body_md5", "0123")])
        #expect(Self.refusal(path: "/x", query: query)?.message == "Invalid body MD5")
    }

    @Test(
        "599 seconds pass, 600 do not",
        arguments: [(-600, false), (-599, true), (0, true), (599, true), (600, false)]
            as [(Int64, Bool)]
    )
    func keepsTheTimeWindow(offset: Int64, isAccepted: Bool) {
        let query = Self.signed("GET", "/x")
        let error = Self.refusal(path: "/x", query: query, now: 1_700_000_000 + offset)
        #expect((error == nil) == isAccepted)
    }

    @Test func reportsTheTextToSign() {
        let query = Self.changing("auth_signature", to: "deadbeef")
        let error = Self.refusal(path: "/apps/3/channels", query: query)
        #expect(
            error?.message == #"Invalid signature: you should have sent HmacSHA256Hex("#
                + #""GET\n/apps/3/channels\n"# + Self.auth
                + #"", your_secret_key), but you sent "deadbeef""#
        )
        #expect(error?.status == 401)
    }

    @Test func neverTellsASecret() {
        for (name, value, _) in Self.refusals + [("auth_signature", "deadbeef", "")] {
            let error = Self.refusal(
                path: "/apps/3/channels",
                query: Self.changing(name, to: value)
            )
            let right = Self.signed("GET", "/apps/3/channels").suffix(64)
            #expect(error?.message.contains(Example.secretText) == false)
            if value != nil { #expect(error?.message.contains(right) == false) }
        }
        #expect(!"\(Example.secret)".contains(Example.secretText))
        var dumped = ""
        dump(Example.secret, to: &dumped)
        #expect(!dumped.contains(Example.secretText))
    }

    @Test func refusesUpperCaseSignaturesAndOtherMethods() {
        let query = Self.signed("GET", "/x")
        let upper = query.dropLast(64) + query.suffix(64).uppercased()
        #expect(Self.refusal(path: "/x", query: String(upper)) != nil)
        #expect(Self.refusal(method: "POST", path: "/x", query: query) != nil)
        #expect(Self.refusal(path: "/y", query: query) != nil)
        #expect(Self.refusal(path: "/x", query: query + "&extra=1") != nil)
    }

    @Test("During a rotation every secret is accepted, and the oldest signs")
    func acceptsEverySecretOfAReplacement() {
        let query = Self.signed("GET", "/x")
        for others in [["new"], ["new", "newer"]] {
            let oldest = AppSecret([Example.secretText] + others)
            #expect(Self.refusal(path: "/x", query: query, secret: oldest) == nil)
            #expect(oldest.sign("x") == AppSecret(Example.secretText).sign("x"))
            let youngest = AppSecret(others + [Example.secretText])
            #expect(Self.refusal(path: "/x", query: query, secret: youngest) == nil)
            #expect(youngest.sign("x") == AppSecret("new").sign("x"))
        }
        #expect(Self.refusal(path: "/x", query: query, secret: AppSecret(["a", "b"])) != nil)
    }

    @Test func neverTrapsOnRandomQueries() {
        var generator = SeededRandom(seed: 0x5EED_0004)
        let words = [
            "auth_key=" + Example.key, "auth_timestamp=1700000000", "auth_version=1.0", "&", "=",
            "+",
            "%", "%2", "[]", "auth_signature", "body_md5=", "a[0]=1", "a[", "%5B%5D=", "é",
        ]
        for _ in 0..<3_000 {
            let query = (0..<Int.random(in: 0...12, using: &generator))
                .map { _ in words.randomElement(using: &generator) ?? "" }
                .joined(separator: Bool.random(using: &generator) ? "&" : "")
            #expect(Self.refusal(path: "/push/a%2", query: query, prefix: "/push") != nil)
        }
    }
}
