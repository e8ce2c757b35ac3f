import Testing

@testable import WebSocket

/// The request of RFC 6455 §1.2, with some fields replaced.
private func request(_ changes: [String: [String]] = [:]) -> (String) -> [String] {
    var fields = [
        "host": ["server.example.com"], "upgrade": ["websocket"], "connection": ["Upgrade"],
        "sec-websocket-key": ["dGhlIHNhbXBsZSBub25jZQ=="],
        "sec-websocket-version": ["13"], "origin": ["http://example.com"],
    ]
    fields.merge(changes) { $1 }
    return { fields[$0] ?? [] }
}

@Suite("Opening handshake of a server, RFC 6455 §4.2") struct ServerHandshakeTests {
    private func accept(
        _ changes: [String: [String]] = [:],
        _ handshake: ServerHandshake = .init()
    ) throws(HandshakeRefusal) -> ServerHandshake.Acceptance {
        try handshake.accept(method: "GET", minorVersion: 1, fields: request(changes))
    }

    @Test func theExampleOfSection1_3() throws {
        let acceptance = try accept()
        #expect(acceptance.subprotocol == nil && acceptance.deflate == nil)
        #expect(
            String(decoding: acceptance.response, as: UTF8.self) == """
                HTTP/1.1 101 Switching Protocols\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
                \r\n
                """
        )
    }

    @Test func acceptsFieldsInAnyOrderAndCase() throws {
        let fields = [
            ("SEC-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Upgrade", "websocket"),
            ("upgrade_", "h2c"), ("Sec-WebSocket-Protocol", "chat"), ("hosT", "a"),
            ("Connection", "keep-alive"), ("CONNECTION", "Upgrade"),
            ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Protocol", "superchat"),
        ]
        func judge(_ fields: [(String, String)]) throws(HandshakeRefusal) -> [UInt8] {
            let handshake = ServerHandshake(subprotocols: ["superchat"])
            return try handshake.accept(method: "GET", minorVersion: 1) { take in
                for (name, value) in fields {
                    let (name, value) = (name.utf8, value.utf8)
                    take(name.span, value.span)
                }
            }.response
        }
        #expect(
            String(decoding: try judge(fields), as: UTF8.self) == """
                HTTP/1.1 101 Switching Protocols\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
                Sec-WebSocket-Protocol: superchat\r
                \r\n
                """
        )
        let repeated = ["Host", "Sec-WebSocket-Version", "Sec-WebSocket-Key"]
        let refusals: [HandshakeRefusal] = [.host, .versionMissing, .key]
        for (name, refusal) in zip(repeated, refusals) {
            #expect(throws: refusal) { try judge(fields + [(name, "13")]) }
        }
        // A malformed line makes the field invalid.
        #expect(throws: HandshakeRefusal.upgrade) { try judge(fields + [("Upgrade", "a b")]) }
        #expect(throws: HandshakeRefusal.connection) {
            try judge(fields + [("Connection", "(")])
        }
    }

    @Test func listsAndCasesOfUpgradeAndConnection() throws {
        _ = try accept(["upgrade": ["h2c, WebSocket"], "connection": ["keep-alive, upgrade"]])
        _ = try accept(["connection": ["keep-alive", "UPGRADE"]])
        _ = try accept(["connection": [" , Upgrade ,"]])
    }

    @Test(arguments: [
        ("upgrade", [], HandshakeRefusal.upgrade), ("upgrade", ["h2c"], .upgrade),
        ("upgrade", ["websockets"], .upgrade), ("connection", [], .connection),
        ("connection", ["keep-alive"], .connection), ("host", [], .host),
        ("host", ["a", "b"], .host),
        ("sec-websocket-version", [], .versionMissing),
        ("sec-websocket-version", ["13", "13"], .versionMissing),
        ("sec-websocket-version", ["8"], .version("8")),
        ("sec-websocket-version", ["13, 8"], .version("13, 8")),
        ("sec-websocket-version", ["013"], .version("013")),
        ("sec-websocket-key", [], .key), ("sec-websocket-key", [""], .key),
        ("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=="], .key),
        ("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZQ"], .key),
        ("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZQ="], .key),
        ("sec-websocket-key", ["dGhlIHNhbXBsZSBub25jZWU="], .key),
        ("sec-websocket-key", ["dGhlIHNhbXBsZSBub25*ZQ=="], .key),
        ("sec-websocket-protocol", [""], .subprotocols),
        ("sec-websocket-protocol", ["a b"], .subprotocols),
        ("sec-websocket-protocol", ["a, a"], .subprotocols),
        ("sec-websocket-protocol", ["a", "a"], .subprotocols),
        ("sec-websocket-extensions", [""], .extensions),
        ("sec-websocket-extensions", ["permessage-deflate; ="], .extensions),
    ])
    func refuses(_ field: String, _ values: [String], refusal: HandshakeRefusal) {
        #expect(throws: refusal) { try accept([field: values]) }
    }

    @Test func refusesOtherMethodsAndHTTP1_0() {
        #expect(throws: HandshakeRefusal.method("POST")) {
            try ServerHandshake().accept(method: "POST", minorVersion: 1, fields: request())
        }
        #expect(throws: HandshakeRefusal.httpVersion) {
            try ServerHandshake().accept(method: "GET", minorVersion: 0, fields: request())
        }
    }

    @Test func refusalsAnswerWithStatusAndFields() {
        let upgrade = [
            HandshakeField("Upgrade", "websocket"), HandshakeField("Connection", "Upgrade"),
        ]
        let version = HandshakeField("Sec-WebSocket-Version", "13")
        let answers: [(HandshakeRefusal, Int, [HandshakeField])] = [
            (.method("PUT"), 405, [HandshakeField("Allow", "GET")]), (.httpVersion, 400, []),
            (.host, 400, []), (.upgrade, 426, upgrade), (.connection, 400, []),
            (.versionMissing, 400, [version]), (.version("8"), 426, upgrade + [version]),
            (.key, 400, []), (.origin("http://a"), 403, []), (.subprotocols, 400, []),
            (.extensions, 400, []),
        ]
        for (refusal, status, fields) in answers {
            #expect(refusal.status == status && refusal.fields == fields, "\(refusal)")
            #expect(refusal.description.hasSuffix("."))
        }
        #expect(HandshakeRefusal.version("8").description.contains("8"))
    }

    @Test func originsMayBeRestricted() throws {
        let handshake = ServerHandshake(origins: ["https://example.com"])
        #expect(throws: HandshakeRefusal.origin("http://example.com")) {
            try accept([:], handshake)
        }
        _ = try accept(["origin": ["https://EXAMPLE.com"]], handshake)
        _ = try accept(["origin": []], handshake)
        #expect(throws: HandshakeRefusal.origin("null")) {
            try accept(["origin": ["null"]], handshake)
        }
    }

    @Test func theFirstSubprotocolThatTheServerSupportsIsChosen() throws {
        let handshake = ServerHandshake(subprotocols: ["chat", "superchat"])
        func chosen(_ lines: String...) throws -> String? {
            let acceptance = try accept(["sec-websocket-protocol": lines], handshake)
            let field = acceptance.fields.first { $0.name == "Sec-WebSocket-Protocol" }
            #expect(field?.value == acceptance.subprotocol)
            return acceptance.subprotocol
        }
        #expect(try chosen("superchat, chat") == "superchat")
        #expect(try chosen("mqtt", "chat") == "chat")
        #expect(try chosen("mqtt") == nil)
        #expect(try chosen("Chat") == nil)
    }
}

@Suite("Negotiation of permessage-deflate by a server, RFC 7692 §5 and §7.1")
struct DeflateAcceptanceTests {
    private func answer(
        _ lines: [String],
        _ options: DeflateOptions? = DeflateOptions()
    ) throws(HandshakeRefusal) -> (String?, NegotiatedDeflate?) {
        let acceptance = try ServerHandshake(deflate: options).accept(
            method: "GET",
            minorVersion: 1,
            fields: request(["sec-websocket-extensions": lines])
        )
        let field = acceptance.fields.first { $0.name == "Sec-WebSocket-Extensions" }
        return (field?.value, acceptance.deflate)
    }

    @Test(arguments: [
        ("permessage-deflate", "permessage-deflate"),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
        (
            "permessage-deflate; client_max_window_bits=10",
            "permessage-deflate; client_max_window_bits=10"
        ),
        (
            "permessage-deflate; server_max_window_bits=8",
            "permessage-deflate; server_max_window_bits=8"
        ),
        (
            "permessage-deflate; server_max_window_bits=\"15\"",
            "permessage-deflate; server_max_window_bits=15"
        ),
        (
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        ),
        ("x-other, permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; unknown, permessage-deflate; server_max_window_bits=9",
            "permessage-deflate; server_max_window_bits=9"
        ),
    ])
    func accepts(_ offer: String, response: String) throws {
        let (text, deflate) = try answer([offer])
        #expect(text == response && deflate != nil)
    }

    @Test(
        "Offers that must be declined (§7.1)",
        arguments: [
            "permessage-deflate; unknown", "permessage-deflate; unknown=1",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; client_no_context_takeover=true",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=7",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=08",
            "permessage-deflate; server_max_window_bits=+9",
            "permessage-deflate; client_max_window_bits=0",
            "permessage-deflate; client_max_window_bits=abc",
            "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
            "permessage-deflate; client_max_window_bits; client_max_window_bits=9",
            "x-webkit-deflate-frame", "Permessage-Deflate",
        ]
    )
    func declines(_ offer: String) throws {
        let (text, deflate) = try answer([offer])
        #expect(text == nil && deflate == nil)
    }

    @Test(
        "A broken grammar fails the handshake (§9.1 of RFC 6455)",
        arguments: [
            ";", "permessage-deflate;", "permessage-deflate; a=", "a b", "a; b c", "a; b=\"",
            "a; b=\"\"", "a; b=\"c d\"", "a; b=\"c", "a; b=\"10 \"", "a; b=c=d", "a/b", "\"a\"",
            ",",
            "a; b=\"c\\", "a; b=\"c\"d", "é",
        ]
    )
    func refuses(_ field: String) {
        #expect(throws: HandshakeRefusal.extensions) { try answer([field]) }
        #expect(throws: HandshakeRefusal.extensions) { try answer([field], nil) }
        #expect(throws: HandshakeRefusal.extensions) { try answer(["a", field]) }
    }

    @Test func theGrammarInFull() {
        #expect(
            ExtensionElement.parse([" a ;b = c;d=\"e\\f\" , ,g", "h;i"]) == [
                ExtensionElement(
                    name: "a",
                    parameters: [.init(name: "b", value: "c"), .init(name: "d", value: "ef")]
                ),
                ExtensionElement(name: "g"),
                ExtensionElement(name: "h", parameters: [.init(name: "i")]),
            ]
        )
        #expect(ExtensionElement.parse([]) == [])
    }

    @Test func offersInSeveralLinesAreOneList() throws {
        let (text, _) = try answer([
            "permessage-deflate; server_max_window_bits=99",
            "permessage-deflate; server_no_context_takeover",
        ])
        #expect(text == "permessage-deflate; server_no_context_takeover")
    }

    @Test func theServersOwnOptions() throws {
        let options = DeflateOptions(
            serverNoContextTakeover: true,
            clientNoContextTakeover: true,
            serverMaxWindowBits: 11,
            clientMaxWindowBits: 10
        )
        let (plain, first) = try answer(["permessage-deflate"], options)
        #expect(
            plain == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=11"
        )
        // The client did not offer the parameter, so the server must not request a window.
        #expect(first?.clientMaxWindowBits == 15 && first?.serverMaxWindowBits == 11)
        let (text, second) = try answer(
            ["permessage-deflate; client_max_window_bits; server_max_window_bits=9"],
            options
        )
        #expect(text?.hasSuffix("server_max_window_bits=9; client_max_window_bits=10") == true)
        #expect(second?.clientMaxWindowBits == 10 && second?.serverMaxWindowBits == 9)
        #expect(second?.serverNoContextTakeover == true && second?.clientNoContextTakeover == true)
    }

    @Test func withoutOptionsNothingIsAccepted() throws {
        let (text, deflate) = try answer(["permessage-deflate"], nil)
        #expect(text == nil && deflate == nil)
    }
}
